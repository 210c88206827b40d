"""Finds the files of a folder to send: those that git would commit, or without git all of them.

Files that `.pdjignore` matches and `__pycache__` are left out. Any other file whose name is that of
a secret, such as `.env`, is an error, unless a pattern of `--include` asks for such names.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pdj.code.archive import MAX_DEPTH
from pdj.code.git import list_files
from pdj.code.ignore import Pattern, is_matched, read_patterns
from pdj.code.secret import is_secret
from pdj.errors import Problem, Usage

MADE_BY_PYTHON = "__pycache__"
MAX_FILES = 10_000
MAX_NAMED = 5
Say = Callable[[str], None]


def find_files(folder: Path, say: Say, includes: Sequence[Pattern] = ()) -> list[str]:
    """Paths of the files and links to send, sorted. Raises Problem."""
    if not folder.is_dir():
        raise Usage(f"no such folder: {folder}")
    patterns = read_patterns(folder)
    meant = [each for each in includes if is_secret("/".join(each.parts))]
    names = []
    listed = list_files(folder, say)
    for name in _walk(folder, "", patterns, bool(meant)) if listed is None else listed:
        parts = name.split("/")
        if MADE_BY_PYTHON in parts or is_matched(patterns, name):
            continue
        names.append(name)
        if len(names) > MAX_FILES:
            raise Problem(f"{folder}: more than {MAX_FILES} files: ignore some of them")
    secrets = [name for name in names if is_secret(name) and not is_matched(meant, name)]
    _refuse(secrets, "may be a secret and is never sent unasked", "include")
    _refuse([name for name in names if not name.isprintable()], "is a name that cannot be sent")
    deep = [name for name in names if name.count("/") > MAX_DEPTH]
    _refuse(deep, f"is in more than {MAX_DEPTH} folders")
    if not names:
        raise Problem(f"{folder}: every file in it is ignored")
    return sorted(names)


def _refuse(names: list[str], why: str, option: str = "") -> None:
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        shown = ", ".join(map(repr, names[:MAX_NAMED]))
        first = shlex.quote(names[0])
        raise Problem(
            f"{shown}{more}: {why}; list it in .pdjignore",
            f"or send it with --{option} {first}" if option else "",
            f"or send it with {option}=[{names[0]!r}]" if option else "",
        )


def _walk(folder: Path, below: str, patterns: list[Pattern], enters_all: bool) -> Iterator[str]:
    """Paths of files, links and secret folders. Enters secret folders only with `enters_all`, and
    ignored ones never.
    """
    try:
        entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
    except OSError as error:
        raise Problem(f"cannot read {below or folder}: {error.strerror}") from error
    for entry in entries:
        name = f"{below}{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        is_refused = name.count("/") > MAX_DEPTH or (is_secret(f"{name}/") and not enters_all)
        if not is_folder or is_refused:
            yield name
        elif not is_matched(patterns, name, is_folder=True):
            yield from _walk(folder, f"{name}/", patterns, enters_all)
