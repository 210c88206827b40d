"""kube-state-metrics beside a cluster, with the file of deploy/monitoring: built from source."""

from pathlib import Path

from localcluster import Cluster
from localcluster.machine.ports import HOST, claim_port
from localcluster.provision.gobuild import Pins
from tests.live.processes import http_get

NAME = "kube-state-metrics"
FILE = Path(__file__).parents[2] / "deploy" / "monitoring" / "kube-state-metrics.yaml"
PINS = Pins(
    title=NAME,
    name=NAME,
    version="v2.15.0",
    folder=Path(__file__).parent / "go" / NAME,
    binaries={NAME: "k8s.io/kube-state-metrics/v2"},
)
RIGHTS = {
    "paddlejobs": "paddlejobs.batch.paddlepaddle.org",
    "definitions": "customresourcedefinitions.apiextensions.k8s.io",
}
"""What it may list and watch: the page's rule, and that of its own chart for all such files."""


class KubeStateMetrics:
    """Runs until its cluster stops, under an account with these rights and no other."""

    def __init__(self, cluster: Cluster, folder: Path, namespace: str = "default") -> None:
        account = f"{namespace}:{NAME}"
        cluster.kubectl("-n", namespace, "create", "serviceaccount", NAME)
        for name, resource in RIGHTS.items():
            rights = ("--verb=list,watch", f"--resource={resource}")
            cluster.kubectl("create", "clusterrole", name, *rights)
            bound = (f"--clusterrole={name}", f"--serviceaccount={account}")
            cluster.kubectl("create", "clusterrolebinding", name, *bound)
        (self._port, self._claim), (telemetry, self._telemetry) = claim_port(), claim_port()
        arguments = [
            f"--kubeconfig={cluster.kubeconfig_for(namespace, NAME)}",
            f"--custom-resource-state-config-file={FILE}",
            "--custom-resource-state-only=true",
            f"--host={HOST}",
            f"--port={self._port}",
            f"--telemetry-host={HOST}",
            f"--telemetry-port={telemetry}",
        ]
        cluster.run_beside(NAME, [str(PINS.binaries_folder() / NAME), *arguments], folder)

    def close(self) -> None:
        """Let go of its ports."""
        self._claim.close()
        self._telemetry.close()

    def series(self) -> dict[str, float]:
        """The series by name and labels; none while it does not answer."""
        try:
            _, text = http_get(f"http://{HOST}:{self._port}/metrics")
        except OSError:
            return {}
        lines = (line for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
