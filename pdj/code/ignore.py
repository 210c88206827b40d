"""Patterns of `.pdjignore` and `--include`: a small part of what git allows.

`name` or `*.log` matches files and folders anywhere. A pattern with a slash inside, such as
`data/*.csv`, begins at the sent folder. With a slash at its end, it matches only folders. Comments
begin with `#`. `!` and `**` are not supported.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pdj.code.file import read
from pdj.errors import Problem

FILE = ".pdjignore"
MAX_IGNORE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: a line of the file, or an `--include`."""

    parts: tuple[str, ...]
    is_rooted: bool
    is_folder: bool

    def matches(self, name: str, is_folder: bool = False) -> bool:
        """Whether the pattern matches the path or a folder that contains it."""
        parts = name.split("/")
        folders = len(parts) - (not is_folder)
        ends = folders if self.is_folder else len(parts)
        if not self.is_rooted:
            return any(fnmatchcase(part, self.parts[0]) for part in parts[:ends])
        return len(self.parts) <= ends and all(map(fnmatchcase, parts, self.parts))


def parse_pattern(text: str, where: str) -> Pattern:
    """Parse one pattern. Raises Problem for `!`, `**`, `..` and a pattern without a name."""
    if text.startswith("!") or "**" in text:
        raise Problem(f"{where}: {text!r}: neither ! nor ** is understood here")
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if not parts or ".." in parts:
        raise Problem(f"{where}: {text!r} is not a pattern for names in the folder")
    return Pattern(parts, "/" in text.rstrip("/"), text.endswith("/"))


def read_patterns(folder: Path) -> list[Pattern]:
    """The patterns of the folder's `.pdjignore`; empty if there is no such file."""
    file = folder / FILE
    try:
        text = read(file, MAX_IGNORE_BYTES).decode("utf-8-sig") if os.path.lexists(file) else ""
    except (OSError, ValueError) as error:
        raise Problem(f"cannot read {FILE}: {getattr(error, 'strerror', error)}") from error
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [
        parse_pattern(line, f"{FILE}:{number}")
        for number, line in stripped
        if line and not line.startswith("#")
    ]


def is_matched(patterns: Iterable[Pattern], name: str, is_folder: bool = False) -> bool:
    """Whether one of the patterns matches this path."""
    return any(pattern.matches(name, is_folder) for pattern in patterns)
