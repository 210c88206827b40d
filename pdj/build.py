"""`python -m pdj.build FILE`: the tool as one file that runs on a bare Python 3.11.

A zip that Python runs as it is, of our packages and PyYAML's Python half. Nothing in it has to be
built for a machine, so nothing is unpacked into a cache when it runs.
"""

import compileall
import shutil
import sys
import tempfile
import zipapp
from pathlib import Path

PACKAGES = ("api", "reconcile", "pdj", "controller")
LEFT_OUT = ("__pycache__", "*.so")
INTERPRETER = "/usr/bin/env python3"
MAIN = "from pdj.main import run\nrun()\n"


def build(target: Path) -> None:
    """Write the file."""
    import yaml

    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in PACKAGES:
            _copy(root / package, folder / package)
        _copy(Path(yaml.__file__).parent, folder / "yaml")
        (folder / "__main__.py").write_text(MAIN)
        # Beside their sources, where Python looks for them in a zip.
        compileall.compile_dir(folder, quiet=1, legacy=True, stripdir=name)
        zipapp.create_archive(folder, target, INTERPRETER, compressed=True)
    target.chmod(0o755)


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
