"""Carries out an order of `kubectl pdj run --local`: a cluster with an operator and a job."""

import contextlib
import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from localcluster.cluster.cluster import Cluster
from localcluster.cluster.config import ClusterConfig
from localcluster.commands.manifests import create_objects
from localcluster.commands.operator import install_operator, start_operator
from localcluster.commands.ownimages import ENVIRONMENT, WORKDIR
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.report import Report
from localcluster.provision.images import ImageTable, check_servers, images_of, stand_in

Raw = dict[str, Any]
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


def start(order: Order, folder: Path, stack: contextlib.ExitStack, report: Report) -> Cluster:
    """Start all of it, until the end of the stack. Raises LocalClusterError."""
    table = write_table(order, folder / "images.yaml")
    prepare_images(order, table, report)
    cluster = stack.enter_context(Cluster(config_for(order, table, report)))
    report("installing the CRD and the operator")
    install_operator(cluster)
    start_operator(cluster)
    create_objects(cluster, without_places(order.objects), order.namespace)
    return cluster


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


def prepare_images(order: Order, path: Path, report: Report) -> None:
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
        image.prepare(report)
        if told := stand_in(name, image):
            report(told)
    check_servers(order.objects, table)


def config_for(order: Order, table: Path, report: Report) -> ClusterConfig:
    """The configuration of a cluster whose nodes are large enough for every pod of the job."""
    asked = {key for spec in pod_specs(order.objects) for key in resources_of(spec)}
    capacity = {**ClusterConfig().node_capacity, "cpu": PLENTY, "memory": f"{PLENTY}Gi"}
    capacity |= {key: PLENTY for key in asked - capacity.keys() if "/" in key}
    return ClusterConfig(
        nodes=order.nodes,
        node_capacity=capacity,
        images=[table],
        report=report,
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
