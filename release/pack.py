"""Archives that are the same for the same files: no times, owners or umask are in them."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

MTIME = (1980, 1, 1, 0, 0, 0)


def is_program(content: bytes) -> bool:
    """Whether it begins with the interpreter that runs it."""
    return content.startswith(b"#!")


def pack_tar(files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz of these files, in order of their names."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755 if is_program(content) else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=0)


def pack_zip(files: Mapping[str, bytes]) -> bytes:
    """A compressed .zip of these files, in the order given."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, MTIME)
            entry.external_attr = (0o100755 if is_program(content) else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def read_folder(folder: Path) -> dict[str, bytes]:
    """The files below a folder by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
