"""Kubeflow's training operator, for `--peer`. Its PaddleJob has masters and workers.

It runs with 8 threads, and without its usual limit on requests to the API server.
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.adapter import Adapter, build_roles
from localcluster.client.rest import Raw
from localcluster.machine.report import Report
from localcluster.provision.gobuild import Pins, ensure_built

VERSION = "v1.9.0"
CRD = "manifests/base/crds/kubeflow.org_paddlejobs.yaml"
PINS = Pins(
    title="Kubeflow's training operator",
    name="training-operator",
    version=VERSION,
    folder=Path(__file__).parent / "go",
    binaries={"training-operator": "."},
    module="github.com/kubeflow/training-operator",
    files=(CRD,),
)


@dataclass(frozen=True)
class TrainingOperator(Adapter):
    """The training-operator of Kubeflow, whose jobs are PaddleJobs of kubeflow.org."""

    def prepare(self, report: Report) -> None:
        """Build the operator, and fetch its CRD."""
        ensure_built(PINS, report)

    def build_job(self, name: str, servers: int, workers: int) -> Raw:
        """A job with masters in place of servers. Its containers must be named "paddle"."""
        roles = build_roles({"Master": servers, "Worker": workers})
        return super().build_job(name, 0, 0) | {"spec": {"paddleReplicaSpecs": roles}}

    def keep_pods(self, job: Raw) -> Raw:
        """The same job, set to keep its pods when it has ended."""
        return {**job, "spec": {**job["spec"], "runPolicy": {"cleanPodPolicy": "None"}}}

    def state(self, job: Raw) -> str:
        """The job's state: "Running" if all pods run; its own condition needs only one master."""
        status = job.get("status") or {}
        conditions = {each["type"]: each["status"] for each in status.get("conditions") or []}
        if conditions.get("Succeeded") == "True":
            return "Completed"
        roles = job["spec"]["paddleReplicaSpecs"]
        counts = status.get("replicaStatuses") or {}
        active = {role: (counts.get(role) or {}).get("active", 0) for role in roles}
        if all(active[role] >= spec["replicas"] for role, spec in roles.items()):
            return "Running"
        return "Created" if conditions else ""

    def is_worker(self, pod: Raw) -> bool:
        """Whether this is a master: a job with masters completes when all have succeeded."""
        role = pod["metadata"].get("labels", {}).get("training.kubeflow.org/replica-type")
        return bool(role == "master")


ADAPTER = TrainingOperator(
    name=f"training-operator {VERSION}",
    group="kubeflow.org",
    manifests=(PINS.file(CRD),),
    command=(str(PINS.binaries_folder() / PINS.name), "-controller-threads=8", "-unlimited"),
)
