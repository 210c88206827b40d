"""`make manual`: the operator's manual from install to uninstall, by kubectl, as printed, in order.

Addresses of raw files have become the paths beneath `deploy/`, where the manual offers both the
command runs once, and the pod's name in `logs` is the real one. What the manual says in words is a
command here: a job is deleted before the next of its name, and the gang, GPU and storage examples
are created from their files. Uninstalling, which the manual shows before its examples, comes last.
"""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.provision.environments import ensure_environment
from tests.live import volcano
from tests.live.tinyimages import write_tiny_images
from tests.manuals.walk import Sections, Step, Walk, WalkError

CHECKOUT = Path(__file__).parents[2]
LABELS = {"accelerator": "nvidia-tesla-p100"}
FILES = {
    "demo-wide-and-deep.yaml": "wide_and_deep.yaml",
    "resnet.yaml": "resnet.yaml",
    "pv-pvc.yaml": "storage.yaml",
}
"""What the reader has saved from the manual's pages, and the examples that it is here."""
IN = "kubectl -n paddle-system"
EXAMPLES = "deploy/examples"


def shows(job: str, rest: str) -> Step:
    """`get pdj` until the job's line goes on like this."""
    return Step(f"{IN} get pdj", rf"{job} +{rest}")


def delete(job: str) -> Step:
    """The job and its pods, so that another can have its name."""
    return Step(f"{IN} delete pdj {job} --cascade=foreground", "deleted")


INSTALL: Sections = (
    (
        "Install the CRD",
        Step("kubectl create -f deploy/v1/crd.yaml"),
        Step("kubectl get crd", r"paddlejobs\.batch\.paddlepaddle\.org"),
    ),
    (
        "Install the controller",
        Step("kubectl create -f deploy/v1/operator.yaml"),
        Step(
            f"{IN} get pods",
            r"(?P<manager>paddle-controller-manager-\S+) +1/1 +Running",
        ),
        Step(f"{IN} logs {{manager}}", r"\S"),
    ),
    (
        "Submit the demo",
        Step(f"{IN} create -f {EXAMPLES}/wide_and_deep.yaml"),
        shows("wide-ande-deep", "Completed +PS +2/2 +0/2"),
        Step(f"{IN} get pods", r"worker-0 +0/1 +Completed"),
    ),
)
EXAMPLE_SECTIONS: Sections = (
    (
        "Example 1: wide and deep",
        delete("wide-ande-deep"),
        Step(f"{IN} create -f demo-wide-and-deep.yaml"),
        shows("wide-ande-deep", "Completed +PS +2/2 +0/2"),
        delete("wide-ande-deep"),
    ),
    (
        "Example 2: resnet",
        Step(f"{IN} create -f resnet.yaml"),
        shows("resnet", "Completed +Collective +0/2"),
        delete("resnet"),
    ),
    (
        "Volcano",
        Step(f"{IN} create -f {EXAMPLES}/wide_and_deep_volcano.yaml"),
        shows("wide-ande-deep", "Completed +PS +2/2 +0/2"),
        delete("wide-ande-deep"),
    ),
    (
        "GPUs and the choice of nodes",
        Step(f"{IN} create -f {EXAMPLES}/wide_and_deep_gpu.yaml"),
        shows("wide-ande-deep-gpu", "Completed +PS +0/2 +0/2"),
    ),
    (
        "Storage",
        Step(f"{IN} apply -f pv-pvc.yaml"),
        Step(f"{IN} create -f {EXAMPLES}/storage_fill.yaml"),
        Step(f"{IN} get jobs", r"storage-fill +\w* +1/1"),
        Step(f"{IN} create -f {EXAMPLES}/wide_and_deep_storage.yaml"),
        shows("paddlejob-demo-1", "Completed +PS +0/2 +0/2"),
    ),
)
UNINSTALL: Sections = (
    (
        "Uninstall",
        Step("kubectl delete -f deploy/v1/crd.yaml -f deploy/v1/operator.yaml"),
        Step("kubectl get crd", r"\A(?!(?s:.*)paddlejobs)"),
        Step("kubectl get pods --all-namespaces", "No resources found"),
    ),
)


def prepare(folder: Path) -> None:
    """What the reader has: `deploy/` as cloned, and the files saved from the pages."""
    (folder / "deploy").symlink_to(CHECKOUT / "deploy")
    for name, example in FILES.items():
        shutil.copy(CHECKOUT / "examples" / example, folder / name)


@contextlib.contextmanager
def start_cluster(folder: Path) -> Iterator[Cluster]:
    """What the manual takes for given: labelled nodes with GPUs, and Volcano."""
    images = write_tiny_images(folder / "images.yaml", OUTPUT_DIR="/nas/model")
    config = ClusterConfig(nodes=2, labels=LABELS, images=[images], nfs_root=folder / "nfs")
    with Cluster(config) as cluster:
        volcano.install_pod_groups(cluster)
        volcano.start_scheduler(cluster, folder)
        yield cluster


def main() -> int:
    """The whole walk on a cluster of its own; 0 when every command did what the manual says."""
    ensure_environment("examples")
    started = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="manual-") as name:
        folder = Path(name)
        prepare(folder)
        say("The manual runs jobs in paddle-system, the only namespace that operator.yaml serves.")
        say("In a cluster of your own keep jobs out of it: docs/security.md says why.\n")
        try:
            with start_cluster(folder) as cluster:
                walk = Walk(cluster, folder, show=say)
                walk.take([*INSTALL, *EXAMPLE_SECTIONS, *UNINSTALL])
        except (WalkError, LocalClusterError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
    seconds = clock.monotonic() - started
    say(f"\n{len(walk.said)} commands in {seconds:.0f} s; all did what the manual says")
    return 0


def say(text: str) -> None:
    """Print at once, into a pipe too."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
