"""Finds the contents of a requirements file: its lines, and the local files that it refers to.

Paths of local packages are relative to the folder of the outermost file, in which pip runs.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

CONTINUED = re.compile(r"\\\n")
COMMENT = re.compile(r"(^|\s)#.*$")
VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
FILE_OPTION = re.compile(r"(?:-[rc]|--(?:requirement|constraint)(?=[\s=]))[\s=]*(.+)")
PLACE_OPTION = re.compile(r"(?:-[ef]|--(?:editable|find-links)(?=[\s=]))[\s=]*(.+)")
AFTER_PLACE = re.compile(r"\s*;.*|\s--.*|\[[^]]*\]\s*$")
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
PLAIN = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[^]]*\])?\s*(?:[=<>!~;].*|--hash.*)?")
MADE_BY_BUILDS = ("build", "dist", "__pycache__")
"""Folders that a build leaves beside the sources. They do not change the digest."""


def digest_requirements(file: Path) -> str:
    """A digest of the files that pip would read, to notice changes.

    Missing files that `file` names are ignored. Raises OSError if a requirements file cannot be
    read.
    """
    digest = hashlib.sha256()
    for part in _parts(file, file.resolve().parent, set()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def plain_lines(file: Path) -> list[str]:
    """The lines of a file if each one names a package; empty if one is a path or an option."""
    text = CONTINUED.sub("", file.read_text(errors="replace"))
    lines = [" ".join(COMMENT.sub("", line).split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    is_plain = all(PLAIN.fullmatch(line) and not line.endswith(ARCHIVES) for line in lines)
    return lines if is_plain else []


def _parts(file: Path, root: Path, seen: set[Path]) -> Iterator[bytes]:
    seen.add(file.resolve())
    text = CONTINUED.sub("", file.read_text(errors="replace"))
    for raw in text.splitlines():
        line = VARIABLE.sub(_value, COMMENT.sub("", raw).strip())
        yield line.encode(errors="surrogatepass")
        if match := FILE_OPTION.fullmatch(line):
            other = file.parent / _unquoted(match[1])
            if other.is_file() and other.resolve() not in seen:
                yield from _parts(other, root, seen)
        elif place := _local_place(line, root):
            yield from _versions(place)


def _value(match: re.Match[str]) -> str:
    return os.environ.get(match[1]) or match[0]


def _unquoted(text: str) -> str:
    return text.strip().strip("'\"")


def _local_place(line: str, root: Path) -> Path | None:
    """The local file or folder that a line names as a package, if any."""
    option = PLACE_OPTION.fullmatch(line)
    if option is None and line.startswith("-"):
        return None
    named = option[1] if option else line.partition(" @ ")[2] or line
    place = _unquoted(AFTER_PLACE.sub("", named))
    if place.startswith("file:"):
        place = unquote(urlsplit(place).path)
    is_path = option or "/" in place or place.startswith(".") or place.endswith(ARCHIVES)
    if not place or not is_path or "://" in place:
        return None
    found = root / place
    return found if found.exists() else None


def _versions(place: Path) -> Iterator[bytes]:
    """Name, size and time of change of a file, or of each file in a folder except build output.

    Contents are not read, because they can be large, and this runs whenever a pod starts.
    """
    if place.is_file():
        yield _version(place, place.parent)
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(each for each in folders if not _is_made(each))
        yield from (_version(Path(folder, name), place) for name in sorted(names))


def _version(file: Path, root: Path) -> bytes:
    try:
        seen = file.stat()
    except OSError:  # a link to nowhere, or a file that was just removed
        return os.fsencode(file.relative_to(root))
    return os.fsencode(file.relative_to(root)) + b" %d %d" % (seen.st_size, seen.st_mtime_ns)


def _is_made(folder: str) -> bool:
    return folder in MADE_BY_BUILDS or folder.endswith(".egg-info") or folder.startswith(".")
