"""What the tests have for Volcano: its PodGroup API, and a scheduler of its name that binds pods.

The scheduler is Kubernetes' own under another name. It knows no PodGroup: that pods are bound as a
gang is Volcano's business, that they ask for it is the operator's.
"""

from pathlib import Path

import yaml

from localcluster import Cluster
from localcluster.commands.manifests import install

CRD = Path(__file__).parent / "crds" / "volcano-podgroup.yaml"
API = "/apis/scheduling.volcano.sh/v1beta1"
SCHEDULER = "volcano-scheduler"


def install_pod_groups(cluster: Cluster) -> None:
    """Let the API server serve Volcano's PodGroup."""
    install(cluster, CRD)


def start_scheduler(cluster: Cluster, folder: Path) -> None:
    """Bind pods whose schedulerName is volcano, as long as the cluster runs."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(cluster.kubeconfig)},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "volcano"}],
    }
    file = folder / "volcano-scheduler.yaml"
    file.write_text(yaml.safe_dump(config))
    command = [str(cluster.bin_dir / "kube-scheduler"), f"--config={file}", "--secure-port=0"]
    cluster.run_beside(SCHEDULER, command, folder)
