"""Helm, kustomize, Prometheus and kube-state-metrics, built from their Go modules.

Beside them Grafana's types of a dashboard, where there are node, npm and its registry.
`python -m tests.live.installers` gets what is missing, with progress.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from api.objects import Raw
from localcluster import Cluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.report import Report, tell
from localcluster.provision.environments import cache_folder
from localcluster.provision.gobuild import Pins, ensure_built
from tests.live import kubestate, patience, prometheus

CHECKOUT = Path(__file__).parents[2]
CHART = CHECKOUT / "charts" / "paddlejob-operator"
KUSTOMIZE_FOLDER = CHECKOUT / "deploy" / "kustomize"
RELEASE = "paddlejob"
NAMESPACE = "paddle-system"
NPM = shutil.which("npm")
SOURCES = Path(__file__).parent / "go"
HELM_VERSION = "v3.22.0"
HELM = Pins(
    title="Helm",
    name="helm",
    version=HELM_VERSION,
    folder=SOURCES / "helm",
    binaries={"helm": "helm.sh/helm/v3/cmd/helm"},
    values=(
        f"helm.sh/helm/v3/internal/version.version={HELM_VERSION}",
        # What `helm template` takes the cluster for; nothing else tells it outside of a checkout.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1",
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36",
    ),
)
KUSTOMIZE = Pins(
    title="kustomize",
    name="kustomize",
    version="v5.7.1",
    folder=SOURCES / "kustomize",
    binaries={"kustomize": "sigs.k8s.io/kustomize/kustomize/v5"},
)


def ensure_installers(report: Report = tell) -> None:
    """Build what is missing, once per user: some minutes."""
    for pins in (HELM, KUSTOMIZE, prometheus.PINS, kubestate.PINS):
        ensure_built(pins, report)


def dashboard_types() -> Path:
    """Where Grafana's types and the TypeScript compiler are, once they were fetched."""
    return cache_folder() / "dashboard-types-11.6.0" / "node_modules"


def fetch_dashboard_types(report: Report = tell) -> None:
    """Fetch the locked packages once per user, where that is possible."""
    packages = dashboard_types()
    if (packages / ".package-lock.json").exists() or not (shutil.which("node") and NPM):
        return
    report("fetching Grafana's types ...")
    shutil.copytree(Path(__file__).parent / "npm", packages.parent, dirs_exist_ok=True)
    command = [NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=packages.parent, capture_output=True, text=True)
    if done.returncode:
        report(f"npm cannot fetch Grafana's types: {done.stderr[-300:]}")


class Helm:
    """Runs Helm against a cluster, in whose temporary folder it keeps what it keeps."""

    def __init__(self, cluster: Cluster, namespace: str = NAMESPACE) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def run(
        self, *arguments: str, values: Raw | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """`helm ...` with values from standard input; raises where it fails and should not."""
        environment = self._cluster.kubectl_environment()
        home = environment["TMPDIR"]
        folders = {f"HELM_{kind}_HOME": f"{home}/helm" for kind in ("CACHE", "CONFIG", "DATA")}
        return run_helm(
            "--namespace",
            self._namespace,
            *arguments,
            values=values,
            environment=environment | folders,
            check=check,
        )


def template(values: Raw | None = None, *arguments: str, namespace: str = NAMESPACE) -> list[Raw]:
    """The objects that an install of the chart makes with these values."""
    command = ("template", RELEASE, str(CHART), "--skip-tests", "--namespace", namespace)
    return parse(run_helm(*command, *arguments, values=values).stdout)


def run_helm(
    *arguments: str,
    values: Raw | None = None,
    environment: dict[str, str] | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """`helm ...`; raises with what it said."""
    given = ("--values", "-") if values is not None else ()
    helm = HELM.binaries_folder() / "helm"
    return _run([str(helm), *arguments, *given], json.dumps(values or {}), environment, check)


def kustomize(folder: Path) -> list[Raw]:
    program = KUSTOMIZE.binaries_folder() / "kustomize"
    return parse(_run([str(program), "build", str(folder)], "", None, True).stdout)


def parse(text: str) -> list[Raw]:
    return [obj for obj in yaml.load_all(text, Loader=yaml.CSafeLoader) if obj]


def _run(
    command: Sequence[str], stdin: str, environment: dict[str, str] | None, check: bool
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        input=stdin,
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience.TEST_SECONDS,
    )
    if check and done.returncode:
        raise LocalClusterError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done


def main() -> str | None:
    """Build what is missing; what went wrong."""
    try:
        ensure_installers()
        fetch_dashboard_types()
    except LocalClusterError as error:
        return f"error: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
