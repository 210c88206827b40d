"""`python -m release.build FILE`: `kubectl pdj` as one file that needs only Python 3.11.

The file is a zip that Python can run. It contains our packages, the Python part of PyYAML, and the
web server of `kubectl pdj ui`, but no native code, so nothing has to be unpacked when it runs.
"""

import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release.pack import pack_zip, read_folder

ROOT = Path(__file__).parents[1]
PACKAGES = ("api", "kube", "reconcile", "pdj")
LIBRARIES = ("yaml", "starlette", "uvicorn", "anyio", "click", "h11", "typing_extensions")
"""Packages in pure Python: uvicorn and starlette with everything that they import."""
LEFT_OUT = ("__pycache__", "*.so")
INTERPRETER = b"#!/usr/bin/env python3\n"
MAIN = """\
import sys
if sys.version_info < (3, 11):
    sys.exit("error: kubectl pdj needs Python 3.11 or newer, and %s is older" % sys.executable)
from pdj.__main__ import run
run()
"""
"""Written for every Python, because `python3` is still 3.9 or 3.10 on many machines."""


def build(target: Path) -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in PACKAGES:
            _copy(ROOT / package, folder / package)
        for library in LIBRARIES:
            _copy_library(library, folder)
        (folder / "__main__.py").write_text(MAIN)
        # Byte code beside the sources, where Python looks for it in a zip. A process of its own
        # makes the same each time: how often a name is in use elsewhere changes it.
        command = [sys.executable, "-m", "compileall", "-q", "-b", "-s", name, name]
        command += ["--invalidation-mode=unchecked-hash"]
        subprocess.run(command, check=True)
        target.write_bytes(INTERPRETER + pack_zip(read_folder(folder)))
    target.chmod(0o755)


def _copy_library(name: str, folder: Path) -> None:
    source = Path(str(importlib.import_module(name).__file__))
    if source.name == "__init__.py":
        _copy(source.parent, folder / name)
    else:
        shutil.copy(source, folder)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))


def main() -> None:
    """The command line: the file to write."""
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    build(target)
    sys.stdout.write(f"written: {target}\n")


if __name__ == "__main__":
    main()
