"""`python -m release.wheel FOLDER`: the wheel of the Python client and of `kubectl pdj`.

The same sources give the same file. It contains `paddlejob`, `pdj`, and our packages that these
import. It does not contain the operator, and the operator's image does not need the wheel.
"""

import base64
import hashlib
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

from release.build import PACKAGES, ROOT, project_version

MTIME = (1980, 1, 1, 0, 0, 0)
NEEDED = ("PyYAML",)
EXTRAS = {"kubeflow": ("kubeflow>=0.5,<0.6",), "ui": ("starlette", "uvicorn")}
LEFT_OUT = {"__pycache__"}
SCRIPTS = "[console_scripts]\nkubectl-pdj = pdj.__main__:run\n"


def build(folder: Path) -> Path:
    """Write the wheel; returns its path."""
    version = project_version()
    info = f"paddlejob-{version}.dist-info"
    files = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for package in (*PACKAGES, "paddlejob")
        for path in sorted((ROOT / package).rglob("*"))
        if path.is_file() and not LEFT_OUT & set(path.parts)
    }
    files |= {
        f"{info}/METADATA": describe(version).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": SCRIPTS.encode(),
    }
    lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    target = folder / f"paddlejob-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name, MTIME), content, zipfile.ZIP_DEFLATED)
    return target


def describe(version: str) -> str:
    """The METADATA. The versions that setup.cfg pins are the lowest ones allowed."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    pinned = dict(
        line.split("==")
        for text in (config["options"]["install_requires"], config["options.extras_require"]["ui"])
        for line in text.split()
    )
    lines = ["Metadata-Version: 2.1", "Name: paddlejob", f"Version: {version}"]
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
