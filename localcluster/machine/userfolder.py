"""This project's folders among the user's own, as the XDG specification has them."""

import os
import tempfile
from pathlib import Path

from localcluster.machine.errors import LocalClusterError

NAME = "paddlejob-operator"


def home() -> Path:
    """The user's home; `~` if nobody knows it."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("~")


def user_folder(variable: str, below_home: str) -> Path:
    """Our folder in the one that the variable names, or else below the user's home."""
    return Path(os.environ.get(variable) or home() / below_home) / NAME


def writable(folder: Path, variable: str) -> Path:
    """The folder, made if it is not there. Raises LocalClusterError, with the variable to set, if
    nothing can be written there.
    """
    if problem := _problem(folder):
        cure = f"set {variable} to a folder that you can write to"
        raise LocalClusterError(f"cannot write to {folder} ({problem}): {cure}")
    return folder


def _problem(folder: Path) -> str:
    """Why nothing can be written there, else nothing. Root's rights say little: try it."""
    if folder.parts[0] == "~":
        return "nobody knows this user's home"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
