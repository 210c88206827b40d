"""The control plane's binaries: built from their Go modules, or supplied by the user."""

import os
import subprocess
from pathlib import Path

from localcluster.machine.errors import BuildError
from localcluster.machine.report import Report, tell
from localcluster.provision.gobuild import Pins, ensure_built
from localcluster.provision.golang import parse_version

KUBERNETES_VERSION = "v1.36.3"


def ensure_binaries(report: Report = tell) -> Path:
    """Return the folder of the five binaries: KUBEBUILDER_ASSETS if it is set, else built ones."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        return ensure_built(PINS, report)
    missing = ", ".join(PINS.missing_binaries(Path(assets)))
    if missing:
        raise BuildError(f"KUBEBUILDER_ASSETS={assets} lacks {missing}; unset it to build them")
    return Path(assets).absolute()


def is_pinned_version(folder: Path) -> bool:
    """Whether these binaries have the pinned minor version. A user can supply another version."""
    if folder == PINS.binaries_folder():
        return True
    command = [str(folder / "kube-apiserver"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    return parse_version(said)[:2] == parse_version(KUBERNETES_VERSION)[:2]


def version_values() -> tuple[str, ...]:
    """Linker values that set the programs' version, as Kubernetes' own build does from git."""
    major, minor, _ = parse_version(KUBERNETES_VERSION)
    package = "k8s.io/component-base/version"
    return (
        f"{package}.gitVersion={KUBERNETES_VERSION}",
        f"{package}.gitMajor={major}",
        f"{package}.gitMinor={minor}",
        f"{package}.gitTreeState=clean",
    )


PINS = Pins(
    title="Kubernetes",
    name="kubernetes",
    version=KUBERNETES_VERSION,
    folder=Path(__file__).parents[1] / "go",
    binaries={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    },
    values=version_values(),
    # Most packages, and few of them are busy: compiling them takes a third less. The libraries
    # that serve requests, such as encoders, are as fast as ever.
    not_inlined=("k8s.io/kubernetes/...", "k8s.io/client-go/...", "k8s.io/kubectl/..."),
)
