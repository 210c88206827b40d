"""Files of configMap, secret, downwardAPI and projected volumes, replaced all at once.

As in a kubelet, the files are links through one link, `..data`: a reader sees either all of the old
content or all of the new.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

DATA_LINK = "..data"


@dataclass(frozen=True)
class File:
    """Content and permission bits of one file."""

    content: bytes
    mode: int


def write_payload(folder: Path, files: dict[str, File]) -> None:
    """Make `folder` contain exactly `files`, whose keys are relative paths."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / DATA_LINK
    old = folder / link.readlink() if link.is_symlink() else None
    if old is not None and _read(old) == files:
        return
    new = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    new.chmod(0o755)
    for path, file in files.items():
        target = new / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(file.mode)
    swap = folder / "..data_tmp"
    swap.symlink_to(new.name)
    swap.rename(link)
    _link_names(folder, {Path(path).parts[0] for path in files})
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _read(folder: Path) -> dict[str, File]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): File(path.read_bytes(), path.stat().st_mode & 0o777)
        for path in found
    }


def _link_names(folder: Path, names: set[str]) -> None:
    for name in names:
        path = folder / name
        if not path.is_symlink():
            path.symlink_to(f"{DATA_LINK}/{name}")
    for path in folder.iterdir():
        if not path.name.startswith("..") and path.name not in names:
            path.unlink()
