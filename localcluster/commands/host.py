"""`python -m localcluster.commands.host`: a cluster with an operator and a job, until standard
input ends.

`kubectl pdj run --local` starts this process. Standard input has one line of JSON, an `Order`, and
then stays open: when it is closed, for whatever reason, the cluster ends. Each line of standard
output is JSON. The first is {"folder": ...}, the process's temporary folder. Lines with {"say":
...}, for people, follow. Then {"kubeconfig": ..., "namespace": ...} says that the cluster is ready.
After an error, at any time, the last line is {"error": ...} and the exit code 1. The process
removes the folder when it ends; if it was killed, the caller can. Only cached builds and Python
environments stay.
"""

import contextlib
import copy
import json
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from localcluster.build.images import ImageTable, check_servers, images_of
from localcluster.cluster.cluster import Cluster
from localcluster.cluster.config import ClusterConfig
from localcluster.commands.manifests import create_objects
from localcluster.commands.operator import install_operator, start_operator
from localcluster.commands.ownimages import ENVIRONMENT, WORKDIR
from localcluster.machine.errors import LocalClusterError

Raw = dict[str, Any]
CHECK_SECONDS = 1.0
INPUT_SECONDS = 0.2
INTERRUPTED = 130
PLENTY = "1000"
"""How many CPUs, GiB of memory and extended resources a node has: more than a job requests, because
the aim is to try the job's program, not its scheduling.
"""
PLACES = ("nodeName", "nodeSelector", "affinity", "topologySpreadConstraints")
"""Fields that are removed from pod specs, because the local nodes perhaps do not satisfy them."""


@dataclass(frozen=True, slots=True)
class Order:
    """The request of `run --local`. `programs` are folders by image name; `requirements` is the
    path of a requirements file for all of them.

    An image with an empty folder gets PaddlePaddle only, because its code is sent with the job.
    """

    objects: list[Raw]
    namespace: str
    programs: dict[str, str] = field(default_factory=dict)
    requirements: str = ""
    nodes: int = 1


def main() -> int:
    """Run the cluster until standard input ends; return the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells start us with it ignored
    line = sys.stdin.readline()
    if not line.endswith("\n"):  # standard input was closed before the order came
        return INTERRUPTED
    order = Order(**json.loads(line))
    with tempfile.TemporaryDirectory(prefix="pdj-local-", ignore_cleanup_errors=True) as name:
        tempfile.tempdir = name
        tell(folder=name)
        try:
            run(order, Path(name))
        except (LocalClusterError, OSError) as error:
            tell(error=str(error))
            return 1
        except KeyboardInterrupt:
            return INTERRUPTED
    return 0


def run(order: Order, folder: Path) -> None:
    """Start everything, report the kubeconfig, and wait for the end of standard input."""
    with contextlib.ExitStack() as stack:
        with interrupted_by_end_of_input():
            table = write_table(order, folder / "images.yaml")
            prepare_images(order, table)
            cluster = stack.enter_context(Cluster(config_for(order, table)))
            tell(say="installing the CRD and the operator")
            install_operator(cluster)
            start_operator(cluster)
            create_objects(cluster, without_places(order.objects), order.namespace)
        tell(kubeconfig=str(cluster.kubeconfig), namespace=order.namespace)
        watch_over(cluster)


@contextlib.contextmanager
def interrupted_by_end_of_input() -> Iterator[None]:
    """During the block, the end of standard input raises KeyboardInterrupt in this thread."""
    done, thread = threading.Event(), threading.get_ident()

    def watch() -> None:
        while not done.is_set():
            if select.select([sys.stdin], [], [], INPUT_SECONDS)[0]:
                signal.pthread_kill(thread, signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, name="input", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def watch_over(cluster: Cluster) -> None:
    """Wait for the end of standard input. Raises LocalClusterError when a component dies."""
    while not select.select([sys.stdin], [], [], CHECK_SECONDS)[0]:
        for name in cluster.dead():
            cluster.process(name).raise_if_dead()


def tell(**words: str) -> None:
    """Write one JSON line for the process that started this one."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def write_table(order: Order, path: Path) -> Path:
    """Write the image table of the programs. Raises LocalClusterError if a folder is missing."""
    entries: Raw = {}
    for image, folder in order.programs.items():
        if folder and not Path(folder).is_dir():
            raise LocalClusterError(f"no such folder: {folder}")
        entry: Raw = {"folders": {WORKDIR: folder}} if folder else {}
        entry |= {"environment": ENVIRONMENT}
        entry |= {"requirements": order.requirements} if order.requirements else {}
        entries[image] = entry | {"env": {"PYTHONUNBUFFERED": "1"}}
    path.write_text(yaml.safe_dump({"images": entries}))
    return path


def prepare_images(order: Order, path: Path) -> None:
    """Install the packages of all images now, so that no pod has to wait for them. Raises
    LocalClusterError, also if an image has no program.
    """
    table = ImageTable([path])
    for name in dict.fromkeys(images_of(order.objects)):
        image = table.find(name)
        if image is None:
            raise LocalClusterError(
                f"no program stands for the image {name} on this machine: --program {name}=FOLDER"
            )
        image.prepare(lambda text: tell(say=text))
    check_servers(order.objects, table)


def config_for(order: Order, table: Path) -> ClusterConfig:
    """The configuration of a cluster whose nodes are large enough for every pod of the job."""
    asked = {key for spec in pod_specs(order.objects) for key in resources_of(spec)}
    capacity = {**ClusterConfig().node_capacity, "cpu": PLENTY, "memory": f"{PLENTY}Gi"}
    capacity |= {key: PLENTY for key in asked - capacity.keys() if "/" in key}
    return ClusterConfig(
        nodes=order.nodes,
        node_capacity=capacity,
        images=[table],
        report=lambda text: tell(say=text),
    )


def without_places(objects: list[Raw]) -> list[Raw]:
    """A copy of the objects without node selectors, affinities and the other fields of PLACES."""
    objects = copy.deepcopy(objects)
    for spec in pod_specs(objects):
        for key in PLACES:
            spec.pop(key, None)
    return objects


def pod_specs(thing: Any) -> list[Raw]:
    """The pod specs in these objects: every mapping with a list of `containers`, at any depth."""
    if isinstance(thing, list):
        return [spec for each in thing for spec in pod_specs(each)]
    if not isinstance(thing, dict):
        return []
    own = [thing] if isinstance(thing.get("containers"), list) else []
    return own + [spec for each in thing.values() for spec in pod_specs(each)]


def resources_of(spec: Raw) -> set[str]:
    """The resources in the requests and limits of a pod's containers. Malformed ones are ignored,
    because the API server refuses them later.
    """
    found: set[str] = set()
    lists = [spec.get(kind) for kind in ("containers", "initContainers")]
    for container in (each for one in lists if isinstance(one, list) for each in one):
        resources = container.get("resources") if isinstance(container, dict) else None
        parts = resources.values() if isinstance(resources, dict) else ()
        found |= {name for part in parts if isinstance(part, dict) for name in part}
    return found


if __name__ == "__main__":
    sys.exit(main())
