"""`python -m release.wheel FOLDER`: the wheel of the Python client and of `kubectl pdj`.

The same sources give the same file. It has one top-level package, `paddlejob`. Below that are
`pdj`, our packages that these two import, and all that a cluster on the user's machine takes.
"""

import base64
import hashlib
import sys
from configparser import ConfigParser
from pathlib import Path

from api.constants import RELEASE
from release.build import PACKAGES, ROOT
from release.nested import TOP, nest
from release.pack import pack_zip

NEEDED = ("PyYAML",)
EXTRAS = {
    "kubeflow": ("kubeflow>=0.5,<0.6",),
    "mcp": ("mcp>=2.3,<3",),
    "ui": ("starlette", "uvicorn"),
}
LOCAL = ("localcluster", "controller", "metrics", "manifests/v1", "requirements", "examples")
"""What a local cluster takes: it runs the operator, installs the CRD and trains the examples."""
LEFT_OUT = {"__pycache__", "dev.txt", "site.in", "site.txt"}


def build(folder: Path) -> Path:
    """Write the wheel; returns its path."""
    info = f"paddlejob-{RELEASE}.dist-info"
    files = {
        **contents(),
        f"{info}/METADATA": describe().encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": programs().encode(),
    }
    lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    target = folder / f"paddlejob-{RELEASE}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    target.write_bytes(pack_zip(files))
    return target


def contents() -> dict[str, bytes]:
    """The files of our packages by their names in the wheel, rewritten to work there."""
    nested = _files(*PACKAGES, *LOCAL)
    modules = {name for path in nested for name in _module(path)}
    files = {f"{TOP}/{path}": content for path, content in nested.items()}
    if twice := files.keys() & _files(TOP).keys():
        raise ValueError(f"two files with one name in the wheel: {', '.join(twice)}")
    files = _files(TOP) | files
    for path, content in files.items():
        if path.endswith(".py"):
            files[path] = nest(content.decode(), modules).encode()
    return files


def _files(*folders: str) -> dict[str, bytes]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and not LEFT_OUT & set(path.parts)
    }


def _module(path: str) -> list[str]:
    """The names of the module in this file and of its packages, as Python imports them."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if not path.endswith(".py"):
        return []
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def programs() -> str:
    """The programs that setup.cfg names."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = config["options.entry_points"]["console_scripts"].strip().splitlines()
    named = (line.replace(" = ", f" = {TOP}.") for line in lines)
    return "\n".join(["[console_scripts]", *named, ""])


def describe() -> str:
    """The METADATA. The versions that setup.cfg pins are the lowest ones allowed."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    pinned = dict(
        line.split("==")
        for text in (config["options"]["install_requires"], config["options.extras_require"]["ui"])
        for line in text.split()
    )
    lines = ["Metadata-Version: 2.1", "Name: paddlejob", f"Version: {RELEASE}"]
    lines += ["Summary: Train with PaddleJobs on Kubernetes, from Python", "License: Apache-2.0"]
    lines += ["Requires-Python: >=3.11"]
    lines += [f"Requires-Dist: {name}>={pinned[name]}" for name in NEEDED]
    for extra, packages in EXTRAS.items():
        lines.append(f"Provides-Extra: {extra}")
        for name in packages:
            least = f">={pinned[name]}" if name in pinned else ""
            lines.append(f'Requires-Dist: {name}{least}; extra == "{extra}"')
    return "\n".join([*lines, ""])


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    sys.stdout.write(f"written: {build(Path(sys.argv[1]))}\n")
