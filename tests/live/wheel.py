"""Wheels, and environments with the one of this project."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import yaml

from release.build import ROOT

OURS = {each.parent.name for each in ROOT.glob("*/__init__.py")} | {"examples"}
"""The packages at the top of a checkout."""
HOSTILE = "raise SystemExit(f'{__name__} is the user\\'s own')"


def install_wheel(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment with this wheel, and PyYAML of this one."""
    venv.create(folder, with_pip=False)  # to install that takes longer than all else here
    program = folder / "bin" / "python"
    words = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", program, *words], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "yaml").symlink_to(Path(yaml.__file__).parent)
    return program


def take_our_names(folder: Path) -> Path:
    """Put a user's own modules there, which are called like our packages; but one is ours alone."""
    for name in OURS - {"paddlejob"}:
        (folder / f"{name}.py").write_text(HOSTILE)
    return folder


def write_wheel(folder: Path, name: str = "demo", version: str = "1", needs: str = "") -> Path:
    """A wheel with one module and a program of its name."""
    target = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        f"{name}.py": f"version = {version!r}\n\ndef main():\n    print(version)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return target
