"""A package for pip that is not on any index."""

import zipfile
from pathlib import Path

NAME = "demo-1-py3-none-any.whl"


def write_wheel(folder: Path) -> Path:
    """The wheel of `demo` 1, which has one empty module."""
    target = folder / NAME
    with zipfile.ZipFile(target, "w") as wheel:
        info = "Metadata-Version: 2.1\nName: demo\nVersion: 1\n"
        wheel.writestr("demo.py", "")
        wheel.writestr("demo-1.dist-info/METADATA", info)
        wheel.writestr("demo-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("demo-1.dist-info/RECORD", "")
    return target
