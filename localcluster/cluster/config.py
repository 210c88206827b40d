"""The settings of a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.machine.report import Report, tell

SPARE_NODES = 4
CONFIG_RETRY_SECONDS = 10.0
"""As `backOffPeriod` in the kubelet's kubelet.go."""


@dataclass(frozen=True)
class ClusterConfig:
    """The settings of a cluster and of its nodes.

    `state_dir` is private to the cluster: it is emptied at the start, and its logs and audit log
    stay after the stop. The default is a temporary folder, which is removed at the stop.
    `images` are image tables besides the project's own; `taints` are `key=value:effect`.
    `nfs_root` contains the NFS volumes in folders <server>/<path> (default: a folder that is
    removed at the stop). `host_path_root` is the folder below which the paths of hostPath volumes
    are looked up (default: /). With `pod_networks` each pod has its own network, if this machine
    allows it. `backoff_seconds` is the first back-off after a failed pull, and after a container's
    second crash: the first restart is immediate. A container whose ConfigMap or Secret is missing
    is tried again after 1 to 1.5 times `config_retry_seconds`, or at once when the pod's labels or
    annotations change. A node renews its Lease every `renew_seconds`. `component_arguments` are
    more arguments by component ("kube-controller-manager"); they replace flags of the same name.
    """

    nodes: int = 1
    node_capacity: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "4"}
    )
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[str] = ()
    state_dir: Path | None = None
    images: Sequence[Path] = ()
    nfs_root: Path | None = None
    host_path_root: Path | None = None
    pod_networks: bool = True
    renew_seconds: float = 10.0
    backoff_seconds: float = 10.0
    config_retry_seconds: float = CONFIG_RETRY_SECONDS
    component_arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    start_timeout_seconds: float = 900.0
    report: Report = field(default=tell, repr=False)

    @property
    def node_names(self) -> list[str]:
        """The names of the nodes that are started with the cluster."""
        return self.known_nodes[: self.nodes]

    @property
    def known_nodes(self) -> list[str]:
        """The names of all nodes that the API server accepts: `node_names`, and some more that can
        be started later.
        """
        return [f"node-{number}" for number in range(self.nodes + SPARE_NODES)]
