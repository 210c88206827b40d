"""What the harness has to know of a kind of job: how to make one and how to read its state.

A peer with another CRD brings a Python file that subclasses `Adapter` and names the instance
`ADAPTER`; `--peer FILE` measures it on the same work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kube.client import JSON
from localcluster.client.rest import Raw
from localcluster.machine.report import Report

NAMESPACE = "default"
IMAGE = "registry.k8s.io/pause:3.10"
PROJECT = Path(__file__).parent.parent


@dataclass(frozen=True)
class WriteOptions:
    """What a client's writes ask for: the query of its creates, and the answer to any of them."""

    create_query: str = ""
    accept: str = JSON


DEFAULT_WRITES = WriteOptions()
OPERATOR_WRITES = WriteOptions(
    create_query="fieldValidation=Ignore",
    accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
)
"""Of this project's operator: nobody looks for unknown fields, and answers are metadata alone."""


@dataclass(frozen=True)
class Adapter:
    """The PaddleJob of this project; a base for others.

    `manifests` are applied before the operator starts, but for Deployments: the operator runs
    as a process here. `command` starts it, where a peer's file brings it along. `writes` are
    the operator's write options, as far as they are known.
    """

    name: str = "paddlejob"
    group: str = "batch.paddlepaddle.org"
    version: str = "v1"
    resource: str = "paddlejobs"
    manifests: Sequence[Path] = (
        PROJECT / "manifests" / "v1" / "crd.yaml",
        PROJECT / "manifests" / "v1" / "operator-all-namespaces.yaml",
    )
    command: Sequence[str] = ()
    writes: WriteOptions = DEFAULT_WRITES

    def prepare(self, report: Report) -> None:
        """Make what the command and the manifests need; before anything else is asked."""

    @property
    def path(self) -> str:
        """The API path of all jobs in the namespace of the measurements."""
        return f"/apis/{self.group}/{self.version}/namespaces/{NAMESPACE}/{self.resource}"

    def build_job(self, name: str, servers: int, workers: int) -> Raw:
        """A job of so many parameter servers and workers."""
        return {
            "apiVersion": f"{self.group}/{self.version}",
            "kind": "PaddleJob",
            "metadata": {"name": name},
            "spec": build_roles({"ps": servers, "worker": workers}),
        }

    def keep_pods(self, job: Raw) -> Raw:
        """The same job, whose pods stay when it has ended."""
        return {**job, "spec": {**job["spec"], "cleanPodPolicy": "Never"}}

    def state(self, job: Raw) -> str:
        """The job's state: "Running" and "Completed" are what the harness waits for."""
        return str((job.get("status") or {}).get("phase", ""))

    def is_worker(self, pod: Raw) -> bool:
        """Whether the pod's end is what completes the job."""
        return bool(pod["metadata"].get("labels", {}).get("paddle-res-type") == "worker")


def build_roles(counts: dict[str, int]) -> Raw:
    """The roles that have replicas, each with its template."""
    return {
        role: {"replicas": count, "template": pod_template("paddle")}
        for role, count in counts.items()
        if count
    }


def pod_template(container: str) -> Raw:
    """A pod as users write it: small requests, a command, some variables."""
    return {
        "spec": {
            "containers": [
                {
                    "name": container,
                    "image": IMAGE,
                    "command": ["python", "train.py"],
                    "args": ["--epochs=10"],
                    "env": [{"name": "EPOCHS", "value": "10"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                }
            ]
        }
    }
