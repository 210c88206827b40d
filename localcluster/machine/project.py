"""Where this project is, and how one of its modules runs as a process of its own.

In a checkout the packages are at the top. In the wheel all of them are below `paddlejob`, and what
names a module is rewritten when the wheel is built (`release/nested.py`).
"""

import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
"""The folder of manifests, examples and requirements: the checkout, or the wheel's `paddlejob`."""
IMPORTS = Path(__file__).absolute().parents[__name__.count(".")]
"""The folder from which Python imports this package."""
FINDABLE = {"PYTHONPATH": str(IMPORTS)}
"""The environment variable with which a process finds this project's modules."""


def command(module: str, *arguments: str) -> list[str]:
    """Run a module of this project, whatever modules lie in the current folder. Needs FINDABLE."""
    return [sys.executable, "-P", "-m", module, *arguments]
