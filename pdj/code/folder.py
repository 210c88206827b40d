"""Finds the files of a folder to send: those that git would commit, or without git all of them.

Files that `.pdjignore` matches and `__pycache__` are left out. Any other file whose name is that of
a secret, such as `.env`, is an error.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from pdj.code.ignore import Pattern, is_matched, read_patterns
from pdj.errors import Problem, Usage

SECRET = (".git", ".env*", "*.pem", "id_*")
MADE_BY_PYTHON = "__pycache__"
MAX_FILES = 10_000
MAX_NAMED = 5
Say = Callable[[str], None]


def find_files(folder: Path, say: Say) -> list[str]:
    """Paths of the files and links to send, sorted. Raises Problem."""
    if not folder.is_dir():
        raise Usage(f"no such folder: {folder}")
    patterns = read_patterns(folder)
    names = []
    listed = _of_git(folder, say)
    for name in _walk(folder, "", patterns) if listed is None else listed:
        parts = name.split("/")
        if MADE_BY_PYTHON in parts or is_matched(patterns, name):
            continue
        names.append(name)
        if len(names) > MAX_FILES:
            raise Problem(f"{folder}: more than {MAX_FILES} files: ignore some of them")
    _refuse([name for name in names if _is_secret(name)], "may be a secret and is never sent")
    _refuse([name for name in names if not name.isprintable()], "is a name that cannot be sent")
    if not names:
        raise Problem(f"{folder}: every file in it is ignored")
    return sorted(names)


def _is_secret(name: str) -> bool:
    return any(fnmatchcase(part.lower(), each) for part in name.split("/") for each in SECRET)


def _refuse(names: list[str], why: str) -> None:
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        shown = ", ".join(map(repr, names[:MAX_NAMED]))
        raise Problem(f"{shown}{more}: {why}; list it in .pdjignore")


def _of_git(folder: Path, say: Say) -> list[str] | None:
    """The files of the folder that git would commit; None outside of a work tree or without git."""
    if not any((each / ".git").exists() for each in (folder.resolve(), *folder.resolve().parents)):
        return None
    words = ("git", "-c", "core.fsmonitor=false", "-C", str(folder))
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    try:
        done = subprocess.run(
            [*words, *listing], env=_environment(), capture_output=True, check=False
        )
    except OSError:
        say(f"git cannot be run, so only {folder}/.pdjignore excludes files, not .gitignore")
        return None
    if done.returncode != 0:
        raise Problem(f"{folder}: {done.stderr.decode(errors='replace')}")
    names = [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    links = {folder: False}
    return [
        name
        for name in names
        if os.path.lexists(folder / name) and not _passes_link((folder / name).parent, links)
    ]


def _passes_link(path: Path, links: dict[Path, bool]) -> bool:
    """Whether the folder, or one that contains it, is now a link. Git still lists the files that
    were there before, but the link can lead anywhere. `links` caches the answers.
    """
    if path not in links:
        links[path] = path.is_symlink() or _passes_link(path.parent, links)
    return links[path]


def _environment() -> dict[str, str]:
    """Our environment without GIT_* variables: in a git hook they point to another work tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _walk(folder: Path, below: str, patterns: list[Pattern]) -> Iterator[str]:
    """Paths of files, links and secret folders. Does not enter secret or ignored folders."""
    try:
        entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
    except OSError as error:
        raise Problem(f"cannot read {below or folder}: {error.strerror}") from error
    for entry in entries:
        name = f"{below}{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder or _is_secret(name):
            yield name
        elif not is_matched(patterns, name, is_folder=True):
            yield from _walk(folder, f"{name}/", patterns)
