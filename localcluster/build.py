"""Builds the control plane from its Go modules, once per user and version.

The binaries lie in the user's cache under a name made of the version and the hash of our go.mod
and go.sum. A binary appears there by a rename, so that what exists is whole. One build at a time
runs per cache; a second one waits for it and finds everything there.
"""

import hashlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localcluster import clock
from localcluster.errors import BuildError
from localcluster.filelock import FileLock
from localcluster.golang import find_go, parse_version

KUBERNETES_VERSION = "v1.36.3"
MODULE = Path(__file__).parent / "go"
HEARTBEAT_SECONDS = 15.0
LAST_LINES = 20
Report = Callable[[str], None]


@dataclass(frozen=True)
class Binary:
    """A program and the Go package that it is built from."""

    name: str
    package: str


BINARIES = (
    Binary("etcd", "go.etcd.io/etcd/server/v3"),
    Binary("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Binary("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Binary("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Binary("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
)


def ensure_binaries(report: Report = print) -> Path:
    """The folder of the five binaries; builds what is missing, and tells how far it is."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        return _ready_assets(Path(assets))
    folder = binaries_folder()
    if missing_binaries(folder):
        _build_missing(folder, report)
    return folder


def cache_folder() -> Path:
    """Where this project keeps what it can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "paddlejob-operator"


def binaries_folder() -> Path:
    """Where the binaries of our go.mod and go.sum belong, built or not."""
    return cache_folder() / f"kubernetes-{KUBERNETES_VERSION}-{_pins_hash()}" / "bin"


def missing_binaries(folder: Path) -> list[Binary]:
    """Those that are not in the folder yet."""
    return [binary for binary in BINARIES if not os.access(folder / binary.name, os.X_OK)]


def _ready_assets(folder: Path) -> Path:
    missing = ", ".join(binary.name for binary in missing_binaries(folder))
    if missing:
        raise BuildError(f"KUBEBUILDER_ASSETS={folder} lacks {missing}; unset it to build them")
    return folder.absolute()


def _pins_hash() -> str:
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((MODULE / name).read_bytes())
    return digest.hexdigest()[:12]


def _build_missing(folder: Path, report: Report) -> None:
    lock = FileLock(folder.parent / "lock")
    if not lock.try_acquire():
        report(f"waiting for the build of process {lock.holder_pid()}")
        lock.acquire()
    try:
        _build(folder, missing_binaries(folder), report)
    finally:
        lock.release()


def _build(folder: Path, missing: list[Binary], report: Report) -> None:
    if not missing:
        return
    started = clock.monotonic()
    go = find_go(_minimum_go(), cache_folder(), report)
    folder.mkdir(parents=True, exist_ok=True)
    report(f"building Kubernetes {KUBERNETES_VERSION} into {folder} (once, some minutes)")
    for number, binary in enumerate(missing, start=1):
        step = f"{binary.name} ({number} of {len(missing)})"
        _build_one(go, binary, folder, _with_elapsed(report, step, started))


def _with_elapsed(report: Report, step: str, started: float) -> Report:
    return lambda text: report(f"  {step}: {text}, {clock.monotonic() - started:.0f} s")


def _build_one(go: Path, binary: Binary, folder: Path, report: Report) -> None:
    report("building")
    unfinished = folder / f".{binary.name}.{os.getpid()}"
    log = folder.parent / f"{binary.name}.log"
    command = [str(go), "build", "-trimpath", "-ldflags", _link_flags(), "-o", str(unfinished)]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, binary.package],
                cwd=MODULE,
                env=_environment(),
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


def _environment() -> dict[str, str]:
    # The user's own flags and workspace must not change what is pinned here.
    fixed = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    free = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return {**free, **fixed, "CGO_ENABLED": "0"}


def _link_flags() -> str:
    major, minor, _ = parse_version(KUBERNETES_VERSION)
    values = {
        "gitVersion": KUBERNETES_VERSION,
        "gitMajor": str(major),
        "gitMinor": str(minor),
        "gitTreeState": "clean",
    }
    package = "k8s.io/component-base/version"
    return " ".join(["-s", "-w", *(f"-X {package}.{key}={value}" for key, value in values.items())])


def _minimum_go() -> str:
    for line in (MODULE / "go.mod").read_text().splitlines():
        if line.startswith("go "):
            return line.removeprefix("go ").strip()
    raise BuildError("go.mod names no Go version")
