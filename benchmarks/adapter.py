"""What the harness has to know of a kind of job: how to make one and how to read its state.

A peer with another CRD brings a Python file that subclasses `Adapter` and names the instance
`ADAPTER`; `--peer FILE` measures it on the same work.
"""

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rest import Raw
from localcluster.gobuild import Report

IMAGE = "registry.k8s.io/pause:3.10"
PROJECT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Manner:
    """How a client writes: the query of its creates, and which answer it accepts to any write."""

    create_query: str = ""
    accept: str = ""


PLAIN = Manner()
LEAN = Manner(
    create_query="fieldValidation=Ignore",
    accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
)
"""Of this project's operator: nobody looks for unknown fields, and answers are metadata alone."""


@dataclass(frozen=True)
class Adapter:
    """The PaddleJob of this project; a base for others.

    `manifests` are applied before the operator starts, but for Deployments: the operator runs
    as a process here. `command` starts it, where a peer's file brings it along. `manner` is how the
    operator writes, as far as it is known.
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
    manner: Manner = PLAIN

    def prepare(self, report: Report) -> None:
        """Make what the command and the manifests need; before anything else is asked."""

    @property
    def collection(self) -> str:
        """The API path of all jobs."""
        return f"/apis/{self.group}/{self.version}/{self.resource}"

    def path(self, namespace: str, name: str = "") -> str:
        """The API path of a job, or of a namespace's."""
        base = f"/apis/{self.group}/{self.version}/namespaces/{namespace}/{self.resource}"
        return f"{base}/{name}" if name else base

    def build_job(self, name: str, servers: int, workers: int) -> Raw:
        """A job of so many parameter servers and workers."""
        roles = {"ps": servers, "worker": workers}
        return {
            "apiVersion": f"{self.group}/{self.version}",
            "kind": "PaddleJob",
            "metadata": {"name": name},
            "spec": {
                role: {"replicas": count, "template": pod_template("paddle")}
                for role, count in roles.items()
                if count
            },
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


def load_adapter(path: Path) -> Adapter:
    """The ADAPTER of a peer's file."""
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks up its annotations
    spec.loader.exec_module(module)
    adapter = module.ADAPTER
    if not isinstance(adapter, Adapter):
        raise TypeError(f"ADAPTER in {path} is no Adapter")
    return adapter
