"""What the benchmarks need to know about a kind of job: how to make one and how to read its state.

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
    """Options of a client's writes: the query of its creates, and the format of the answers."""

    create_query: str = ""
    accept: str = JSON


DEFAULT_WRITES = WriteOptions()
OPERATOR_WRITES = WriteOptions(
    create_query="fieldValidation=Ignore",
    accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
)
"""Write options of this project's operator: the API server does not look for unknown fields, and
its answers contain metadata alone."""


@dataclass(frozen=True)
class Adapter:
    """The adapter of this project's PaddleJob, and the base class of other adapters.

    `manifests` are applied before the operator starts, without their Deployments, because the
    operator runs as a process here. `command` starts a peer's operator; `--operator` and this
    project's operator do not use it. `writes` are the operator's write options, as far as known.
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
        """Make what the command and the manifests need. It is called before everything else."""

    @property
    def path(self) -> str:
        """The API path of all jobs in the namespace of the measurements."""
        return f"/apis/{self.group}/{self.version}/namespaces/{NAMESPACE}/{self.resource}"

    def build_job(self, name: str, servers: int, workers: int) -> Raw:
        """A job with these numbers of parameter servers and workers."""
        return {
            "apiVersion": f"{self.group}/{self.version}",
            "kind": "PaddleJob",
            "metadata": {"name": name},
            "spec": build_roles({"ps": servers, "worker": workers}),
        }

    def keep_pods(self, job: Raw) -> Raw:
        """The same job, set to keep its pods when it has ended."""
        return {**job, "spec": {**job["spec"], "cleanPodPolicy": "Never"}}

    def state(self, job: Raw) -> str:
        """The job's state; the benchmarks wait for "Running" and "Completed"."""
        return str((job.get("status") or {}).get("phase", ""))

    def is_worker(self, pod: Raw) -> bool:
        """Whether this is one of the pods whose success completes the job."""
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
