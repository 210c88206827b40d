"""Builds programs from a folder of pinned Go modules, one time per user and version.

The binaries are in the user's cache, in a folder named after the version and the hash of go.mod,
go.sum and the sources. A finished binary is moved there by a rename, so it is never incomplete.
Only one build runs per folder. A second process waits and then finds the binaries.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localcluster.build.environments import cache_folder
from localcluster.build.golang import find_go
from localcluster.machine.errors import BuildError
from localcluster.machine.filelock import FileLock
from localcluster.machine.report import Report, run_to_end

LAST_LINES = 20


@dataclass(frozen=True)
class Pins:
    """A folder with go.mod and go.sum, and the packages of the programs to build, by program name.

    `title` is for messages, `name` for folders; `values` are variables that the linker sets, `tags`
    are build tags. `files` are paths in the Go module `module`: these files are copied to `home()`.
    """

    title: str
    name: str
    version: str
    folder: Path
    binaries: Mapping[str, str]
    values: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    module: str = ""
    files: tuple[str, ...] = ()

    def home(self) -> Path:
        """The folder for everything built from these pins."""
        return cache_folder() / f"{self.name}-{self.version}-{self._hash()}"

    def binaries_folder(self) -> Path:
        """The folder of the binaries, which are perhaps not built yet."""
        return self.home() / "bin"

    def file(self, path: str) -> Path:
        """The path of one of the module's files, which is perhaps not fetched yet."""
        return self.home() / path

    def missing_binaries(self, folder: Path) -> list[str]:
        """The names of the binaries that are not in this folder."""
        return [name for name in self.binaries if not os.access(folder / name, os.X_OK)]

    def minimum_go(self) -> str:
        """The version of Go that go.mod asks for."""
        for line in (self.folder / "go.mod").read_text().splitlines():
            if line.startswith("go "):
                return line.removeprefix("go ").strip()
        raise BuildError(f"{self.folder}/go.mod names no Go version")

    def _hash(self) -> str:
        digest = hashlib.sha256()
        sources = sorted(self.folder.glob("*.go"))
        for path in (self.folder / "go.mod", self.folder / "go.sum", *sources):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:12]


def ensure_built(pins: Pins, report: Report = print) -> Path:
    """Return the folder of the binaries. Builds or fetches what is missing. Raises BuildError."""
    folder = pins.binaries_folder()
    if pins.missing_binaries(folder):
        _build_missing(pins, folder, report)
    if missing := [path for path in pins.files if not pins.file(path).exists()]:
        _copy(pins, missing, _module_folder(pins, report))
    os.utime(pins.home())  # prune.py keeps folders that were used lately
    return folder


def _module_folder(pins: Pins, report: Report) -> Path:
    """The folder in which Go keeps the module; fetches the module if needed."""
    go = find_go(pins.minimum_go(), report)
    answer = subprocess.run(
        [str(go), "mod", "download", "-json", pins.module],
        cwd=pins.folder,
        env=go_environment(),
        capture_output=True,
        text=True,
    )
    if answer.returncode:
        raise BuildError(f"cannot fetch {pins.module}: {(answer.stderr + answer.stdout).strip()}")
    return Path(json.loads(answer.stdout)["Dir"])


def _copy(pins: Pins, missing: list[str], folder: Path) -> None:
    for path in missing:
        target = pins.file(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copyfile(folder / path, unfinished)
        unfinished.replace(target)


def go_environment() -> dict[str, str]:
    """The environment for `go`: the user's own flags and workspace must not change the pins."""
    fixed = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    free = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return {**free, **fixed, "CGO_ENABLED": "0"}


def _build_missing(pins: Pins, folder: Path, report: Report) -> None:
    lock = FileLock(folder.parent / "lock")
    if not lock.acquire(wait=False):
        report(f"waiting for the build of process {lock.holder_pid()}")
        lock.acquire()
    try:
        if missing := pins.missing_binaries(folder):
            _build(pins, missing, report)
    finally:
        lock.release()


def _build(pins: Pins, missing: list[str], report: Report) -> None:
    go, folder = find_go(pins.minimum_go(), report), pins.binaries_folder()
    folder.mkdir(parents=True, exist_ok=True)
    report(f"building {pins.title} {pins.version} into {folder} (once, some minutes)")
    flags = " ".join(["-s", "-w", *(f"-X {value}" for value in pins.values)])
    command = [str(go), "build", "-trimpath", "-tags", ",".join(pins.tags)]
    command += ["-ldflags", flags, "-o"]
    for number, name in enumerate(missing, start=1):
        unfinished = folder / f".{name}.{os.getpid()}"
        title = f"{name} ({number} of {len(missing)}): building"
        try:
            command_line = [*command, str(unfinished), pins.binaries[name]]
            code, said = run_to_end(command_line, title, report, pins.folder, go_environment())
            if code:
                lines = said.splitlines()[-LAST_LINES:]
                raise BuildError(f"cannot build {name}:\n" + "\n".join(lines))
            unfinished.replace(folder / name)
        finally:
            unfinished.unlink(missing_ok=True)
