"""Builds programs from a folder of pinned Go modules, one time per user and version.

The binaries are in the user's cache, in a folder named after the version and the hash of go.mod,
go.sum and the sources. A finished binary is moved there by a rename, so it is never incomplete.
Only one build runs per folder. A second process waits and then finds the binaries.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.errors import BuildError
from localcluster.machine.filelock import FileLock
from localcluster.machine.report import Progress, Read, Report, run_to_end, tell
from localcluster.provision.environments import cache_folder
from localcluster.provision.golang import find_go

LAST_LINES = 20
UNFINISHED = ".unfinished"
SIZES = "sizes.json"
"""The programs' sizes in bytes, by name: a file of another size is only a part of one."""
LISTED = '{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles "\\t"}}'
AGAIN = "(the next call goes on from here; `go clean -cache -modcache` empties Go's own caches)"
LARGEST_BYTES = 1 << 30
"""About twice what the largest package takes, if no garbage is collected."""
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Pins:
    """A folder with go.mod and go.sum, and the packages of the programs to build, by program name.

    `title` is for messages, `name` for folders; `values` are variables that the linker sets, `tags`
    are build tags. Packages that match a pattern of `not_inlined` are compiled faster, and run a
    little slower. `files` are paths in the Go module `module`: they are copied to `home()`.
    """

    title: str
    name: str
    version: str
    folder: Path
    binaries: Mapping[str, str]
    values: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    not_inlined: tuple[str, ...] = ()
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
        """The names of the binaries that are not in this folder, or not whole."""
        sizes: dict[str, int] = {}
        with contextlib.suppress(OSError, ValueError):
            sizes = json.loads((folder.parent / SIZES).read_text())
        return [name for name in self.binaries if not _is_whole(folder / name, sizes.get(name))]

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


def _is_whole(program: Path, size: int | None) -> bool:
    """Whether it can be run and has this size, as far as the size is known."""
    is_there = os.access(program, os.X_OK)
    return is_there and size in (None, program.stat().st_size)


def ensure_built(pins: Pins, report: Report = tell) -> Path:
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
    return {**memory_settings(available_bytes()), **free, **fixed, "CGO_ENABLED": "0"}


def memory_settings(available: int) -> dict[str, str]:
    """Variables for the compiler and the linker, of which one runs per core: they collect no
    garbage below their share of the memory, if that share is enough for the largest package.
    """
    share = available // 2 // (os.cpu_count() or 1)
    return {"GOGC": "off", "GOMEMLIMIT": str(share)} if share >= LARGEST_BYTES else {}


def available_bytes() -> int:
    """The memory that is free for new processes, here and in this control group."""
    text = Path("/proc/meminfo").read_text()
    found = [int(line.split()[1]) * 1024 for line in text.splitlines() if "MemAvailable" in line]
    with contextlib.suppress(OSError, ValueError):  # no limit, or another version of cgroups
        found.append(int((CGROUP / "memory.max").read_text()))
        found[-1] -= int((CGROUP / "memory.current").read_text())
    return min(found, default=0)


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
    """Build all that is missing by one command: the programs share packages, and are linked side
    by side.
    """
    go, folder = find_go(pins.minimum_go(), report), pins.binaries_folder()
    unfinished = pins.home() / UNFINISHED
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a build that was killed
    folder.mkdir(parents=True, exist_ok=True)
    unfinished.mkdir()
    report(f"building {pins.title} {pins.version} into {folder} (once, some minutes)")
    packages = [pins.binaries[name] for name in missing]
    try:
        _compile(go, pins, packages, report)
        for name in missing:
            (unfinished / _file_name(pins.binaries[name], unfinished)).replace(folder / name)
        sizes = {name: (folder / name).stat().st_size for name in pins.binaries}
        (unfinished / SIZES).write_text(json.dumps(sizes))
        (unfinished / SIZES).replace(pins.home() / SIZES)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _compile(go: Path, pins: Pins, packages: list[str], report: Report) -> None:
    """Build the programs into the folder UNFINISHED. Raises BuildError."""
    tags = ["-tags", ",".join(pins.tags)]
    flags = " ".join(["-s", "-w", *(f"-X {value}" for value in pins.values)])
    build = [str(go), "build", "-v", "-trimpath", "-gcflags=all=-dwarf=false"]
    build += [f"-gcflags={pattern}=-dwarf=false -l" for pattern in pins.not_inlined]
    build += ["-ldflags", flags, *tags, "-o", str(pins.home() / UNFINISHED), *packages]

    def run(command: list[str], doing: str, read: Read) -> list[str]:
        title = f"{pins.title}: {doing}"
        code, said = run_to_end(command, title, report, pins.folder, go_environment(), read)
        if code:
            lines = [line for line in said.splitlines() if line not in sizes][-LAST_LINES:]
            text = "\n".join([*lines, AGAIN])
            raise BuildError(f"cannot build {', '.join(_names(pins, packages))}:\n{text}")
        return said.splitlines()

    sizes: dict[str, int] = {}
    found = run([str(go), "list", "-deps", "-f", LISTED, *tags, *packages], "fetching", _fetched)
    sizes |= dict(_size(line) for line in found if "\t" in line)
    progress, left = Progress(sum(sizes.values())), dict(sizes)
    run(build, "building", lambda line: progress.add(left.pop(line, 0)) if line in left else "")


def _fetched(line: str) -> str:
    """The module that a line of Go's names as being downloaded, else nothing."""
    return line.partition("go: downloading ")[2]


def _size(line: str) -> tuple[str, int]:
    """A package of the list with the bytes of its sources: about what compiling it takes."""
    package, folder, *files = line.split("\t")
    return package, sum((Path(folder) / file).stat().st_size for file in files if file)


def _names(pins: Pins, packages: list[str]) -> list[str]:
    return [name for name, package in pins.binaries.items() if package in packages]


def _file_name(package: str, folder: Path) -> str:
    """The file in which Go has put a program: named after the package, without its version."""
    built = [each.name for each in folder.iterdir()]
    parts = [part for part in package.split("/") if not re.fullmatch(r"v[0-9]+", part)]
    return parts[-1] if parts[-1] in built else built[0]
