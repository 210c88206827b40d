"""Builds programs from a folder of pinned Go modules, once per user and version.

The binaries lie in the user's cache under a name made of the version and the hash of go.mod, go.sum
and the folder's own sources. A binary appears there by a rename, so that what exists is whole. One
build at a time runs per folder; a second one waits for it and finds everything there.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localcluster import clock
from localcluster.errors import BuildError
from localcluster.filelock import FileLock
from localcluster.golang import find_go

HEARTBEAT_SECONDS = 15.0
LAST_LINES = 20
Report = Callable[[str], None]


@dataclass(frozen=True)
class Binary:
    """A program and the Go package that it is built from."""

    name: str
    package: str


@dataclass(frozen=True)
class Pins:
    """A folder with go.mod and go.sum, and the programs to build from it.

    `title` is for people, `name` for folders; `values` are set by the linker in variables.
    """

    title: str
    name: str
    version: str
    folder: Path
    binaries: tuple[Binary, ...]
    values: tuple[str, ...] = ()

    def home(self) -> Path:
        """Where everything made of these pins belongs."""
        return cache_folder() / f"{self.name}-{self.version}-{self._hash()}"

    def binaries_folder(self) -> Path:
        """Where the binaries belong, built or not."""
        return self.home() / "bin"

    def missing_binaries(self, folder: Path) -> list[Binary]:
        """Those that are not in the folder yet."""
        return [binary for binary in self.binaries if not os.access(folder / binary.name, os.X_OK)]

    def minimum_go(self) -> str:
        """The version of Go that go.mod asks for."""
        for line in (self.folder / "go.mod").read_text().splitlines():
            if line.startswith("go "):
                return line.removeprefix("go ").strip()
        raise BuildError(f"{self.folder}/go.mod names no Go version")

    def _hash(self) -> str:
        digest = hashlib.sha256()
        for path in (*map(self.folder.joinpath, ("go.mod", "go.sum")), *self._sources()):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:12]

    def _sources(self) -> list[Path]:
        return sorted(self.folder.glob("*.go"))


def cache_folder() -> Path:
    """Where this project keeps what it can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "paddlejob-operator"


def ensure_built(pins: Pins, report: Report = print) -> Path:
    """The folder of the binaries; builds what is missing, and tells how far it is."""
    folder = pins.binaries_folder()
    if pins.missing_binaries(folder):
        _build_missing(pins, folder, report)
    return folder


def find_go_for(pins: Pins, report: Report = print) -> Path:
    """A `go` that is new enough for the pins; run it with `go_environment`."""
    return find_go(pins.minimum_go(), cache_folder(), report)


def module_folder(pins: Pins, module: str, report: Report = print) -> Path:
    """Where Go keeps the files of a module that the pins name; fetches what is missing."""
    go = find_go_for(pins, report)
    for verb in (["mod", "download", module], ["list", "-m", "-json", module]):
        answer = subprocess.run(
            [str(go), *verb],
            cwd=pins.folder,
            env=go_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode:
            raise BuildError(f"no files of {module}: {answer.stderr.strip()}")
    return Path(json.loads(answer.stdout)["Dir"])


def go_environment() -> dict[str, str]:
    """The environment for `go`: the user's own flags and workspace must not change the pins."""
    fixed = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    free = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return {**free, **fixed, "CGO_ENABLED": "0"}


def _build_missing(pins: Pins, folder: Path, report: Report) -> None:
    lock = FileLock(folder.parent / "lock")
    if not lock.try_acquire():
        report(f"waiting for the build of process {lock.holder_pid()}")
        lock.acquire()
    try:
        _build(pins, folder, report)
    finally:
        lock.release()


def _build(pins: Pins, folder: Path, report: Report) -> None:
    missing = pins.missing_binaries(folder)
    if not missing:
        return
    started = clock.monotonic()
    go = find_go_for(pins, report)
    folder.mkdir(parents=True, exist_ok=True)
    report(f"building {pins.title} {pins.version} into {folder} (once, some minutes)")
    for number, binary in enumerate(missing, start=1):
        step = f"{binary.name} ({number} of {len(missing)})"
        _build_one(go, pins, binary, _with_elapsed(report, step, started))


def _with_elapsed(report: Report, step: str, started: float) -> Report:
    return lambda text: report(f"  {step}: {text}, {clock.monotonic() - started:.0f} s")


def _build_one(go: Path, pins: Pins, binary: Binary, report: Report) -> None:
    report("building")
    folder = pins.binaries_folder()
    unfinished = folder / f".{binary.name}.{os.getpid()}"
    log = folder.parent / f"{binary.name}.log"
    flags = " ".join(["-s", "-w", *(f"-X {value}" for value in pins.values)])
    command = [str(go), "build", "-trimpath", "-ldflags", flags, "-o", str(unfinished)]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, binary.package],
                cwd=pins.folder,
                env=go_environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            _wait(process, report)
        if process.returncode:
            lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise BuildError(f"cannot build {binary.name}:\n" + "\n".join(lines))
        unfinished.replace(folder / binary.name)
    finally:
        unfinished.unlink(missing_ok=True)


def _wait(process: subprocess.Popen[bytes], report: Report) -> None:
    try:
        while True:
            try:
                process.wait(HEARTBEAT_SECONDS)
                return
            except subprocess.TimeoutExpired:
                report("still building")
    finally:
        process.kill()
        process.wait()
