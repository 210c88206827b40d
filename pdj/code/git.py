"""Lists the files of a folder that git would commit, without trust in the folder's repository.

Whoever made the folder may have written its `.git` too, whose configuration can name commands for
git to run. So git runs with a new repository of ours: only the index, which has the names of
tracked files, and the rules of `info/exclude` are those of `.git`.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pdj.code.archive import MAX_CODE_BYTES
from pdj.code.file import read
from pdj.code.unpack import leads_out
from pdj.errors import Problem

SECONDS = 120.0
"""Far more than git needs. A `.gitignore` that is a pipe hangs it."""
BOUNDED = """ulimit -v 1048576 2>&-; ulimit -f 524288 2>&-
exec git -c core.fsmonitor=false -c index.threads=false "$@" >"$GIT_DIR/said"
"""
"""git with 1 GiB of memory (not on macOS) and 256 MiB of names: enough for a million files. A small
index can unpack to far more.
"""


def list_files(folder: Path, say: Callable[[str], None]) -> list[str] | None:
    """Paths of files, links and repositories in the folder; None outside of a work tree or without
    git. Raises Problem if git fails.
    """
    folders = (folder.resolve(), *folder.resolve().parents)
    try:
        root = next((each for each in folders if (each / ".git").exists()), None)
        if root is None:
            return None
        if not shutil.which("git"):
            say(f"git cannot be run, so only {folder}/.pdjignore excludes files, not .gitignore")
            return None
        with tempfile.TemporaryDirectory() as ours:
            where = {"GIT_DIR": ours, "GIT_WORK_TREE": str(root)}
            _make(Path(ours), root / ".git", where)
            words = ("-C", str(folder), "ls-files", "-z", "--exclude-standard")
            _git(where, *words, "--cached", "--others")
            listed = read(Path(ours), MAX_CODE_BYTES, "said")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        said = os.fsdecode(getattr(error, "stderr", None) or b"")
        why = said or getattr(error, "strerror", None) or error  # its file's name can be a secret
        raise Problem(f"{folder}: git: {why}") from error
    names = map(os.fsdecode, dict.fromkeys(listed.split(b"\0")))  # a conflict's come thrice
    real = cache(os.path.realpath)
    return [name for name in names if _is_there(folders[0], name, real)]


def _make(ours: Path, git: Path, where: dict[str, str]) -> None:
    """Make our repository. In a linked work tree and in a submodule, `.git` is a file that says
    where the repository is.
    """
    own = git if git.is_dir() else git.parent / _read(git).removeprefix("gitdir:").strip()
    common = own / _read(own / "commondir").strip()
    is_long = re.search(r"objectformat\s*=\s*sha256", _read(common / "config"), re.IGNORECASE)
    where["GIT_DEFAULT_HASH"] = "sha256" if is_long else "sha1"  # a git before 2.28 ignores it
    _git(where, "init", "--quiet", "--template=")
    (ours / "info").mkdir(exist_ok=True)
    for file in (own / "index", *own.glob("sharedindex.*"), common / "info" / "exclude"):
        if file.is_file():
            name = "info/exclude" if file.name == "exclude" else file.name
            (ours / name).symlink_to(file)


def _read(file: Path) -> str:
    return os.fsdecode(read(file, MAX_CODE_BYTES)) if file.is_file() else ""


def _git(where: dict[str, str], *words: str) -> None:
    # In a git hook, GIT_* variables point to another repository.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ("sh", "-c", BOUNDED, "git", *words)
    subprocess.run(words, env=own | where, stderr=subprocess.PIPE, timeout=SECONDS, check=True)


def _is_there(folder: Path, name: str, real: Callable[[str], str]) -> bool:
    """Whether the path leads to something in the folder as its text says. An index can name
    anything, and also has the files that were there before a folder became a link.
    """
    path = os.path.join(folder, name.rstrip("/"))  # noqa: PTH118 # Path would hide what is odd
    is_plain = not leads_out(name) and os.path.normpath(path) == path
    above = path.rpartition("/")[0]
    return is_plain and os.path.lexists(path) and real(above) == above
