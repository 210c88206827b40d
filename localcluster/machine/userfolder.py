"""This project's folders among the user's own, as the XDG specification has them."""

import os
from pathlib import Path

from localcluster.machine.errors import LocalClusterError

NAME = "paddlejob-operator"


def user_folder(variable: str, below_home: str) -> Path:
    """Our folder in the one that the variable names, or else below the user's home."""
    try:
        base = Path(os.environ.get(variable) or Path.home() / below_home)
    except RuntimeError:  # nobody knows where the user's home is
        base = Path("~") / below_home
    return base / NAME


def writable(path: Path, variable: str) -> Path:
    """The path, which may not exist yet. Raises LocalClusterError, with the variable to set, if
    nothing can be written there.
    """
    there = next((each for each in (path, *path.parents) if each.is_dir()), path)
    if path.parts[0] == "~" or not os.access(there, os.W_OK | os.X_OK):
        raise LocalClusterError(
            f"cannot write to {path}: set {variable} to a folder that you can write to"
        )
    return path
