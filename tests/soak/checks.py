"""What must hold once nothing fails any more: each check takes a fresh list and says what is wrong.

All of them are pure, so that each can be shown a world that breaks its rule.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from api.constants import KIND
from api.objects import Raw, controller_of, labels_of, name_of, namespace_of, uid_of
from reconcile.model.plan import Observed, Settings
from reconcile.reconcile import reconcile
from tests.soak.jobs import COMPLETED, FAILED, RUNNING, WRONG_PEERS

KINDS = ("Pod", "Service", "ConfigMap")
ENDED = (COMPLETED, FAILED)
EXPLAINED = ("Pending", "Restarting", "Failed", "Suspended", "Completed")
Check = list[str]


@dataclass(frozen=True, slots=True)
class Listing:
    """What the API server has of every kind, by kind; all of one moment at rest."""

    jobs: list[Raw]
    children: Mapping[str, list[Raw]]
    nodes: Mapping[str, Raw] = field(default_factory=dict)

    def children_of(self, kind: str, job: Raw) -> tuple[Raw, ...]:
        """Those that a job controls."""
        return tuple(obj for obj in self.children[kind] if _owner_uid(obj) == uid_of(job))


@dataclass(slots=True)
class Expectation:
    """How a job has to end up; `is_touched` once something failed that may restart it."""

    ends: str
    may_restart: bool = False
    is_touched: bool = False


def check_ends(job: Raw, expected: Expectation) -> Check:
    """The job has ended as it had to, and restarted only where something was wrong with it."""
    status = job.get("status") or {}
    wrong = []
    if status.get("phase") != expected.ends:
        wrong.append(f"is {status.get('phase')} and not {expected.ends}: {status}")
    if not _says_why(status):
        wrong.append(f"does not say why it is {status.get('phase')}: {status.get('conditions')}")
    if status.get("restartCount") and not (expected.may_restart or expected.is_touched):
        wrong.append(f"was restarted, and nothing had happened to it: {status.get('failures')}")
    codes = [failure.get("exitCode") for failure in status.get("failures") or ()]
    if WRONG_PEERS in codes and not expected.is_touched:  # a node may make a pod anew
        wrong.append("a trainer was told other peers than its own")
    return [f"{_path(job)} {each}" for each in wrong]


def is_lost(job: Raw, expected: Expectation) -> bool:
    """Whether the job has ended otherwise than it had to: no waiting helps."""
    phase = (job.get("status") or {}).get("phase")
    return phase in ENDED and phase != expected.ends


def _says_why(status: Raw) -> bool:
    if status.get("phase") == RUNNING:
        return True
    return any(
        condition["type"] in EXPLAINED
        and condition["status"] == "True"
        and condition.get("reason")
        and condition.get("message")
        for condition in status.get("conditions") or ()
    )


def check_status(job: Raw, listing: Listing) -> Check:
    """The status is that of the current spec, and counts the pods that there are."""
    status = job.get("status") or {}
    wrong = []
    if status.get("observedGeneration") != job["metadata"]["generation"]:
        wrong.append(f"has not seen generation {job['metadata']['generation']}: {status}")
    for role in ("ps", "worker"):
        pods = [p for p in listing.children_of("Pod", job) if _role(p) == role]
        running = sum(1 for pod in pods if pod["status"].get("phase") == "Running")
        told = (status.get(role) or {}).get("running", 0)
        if told != running:
            wrong.append(f"tells of {told} running {role} pods, and {running} run")
    return [f"{_path(job)} {each}" for each in wrong]


def check_read(job: Raw) -> Check:
    """The log of a job that runs has been read: the first time, the status is written."""
    status = job.get("status") or {}
    read = (status.get("progress") or {}).get("attempt")
    if status.get("phase") != RUNNING or read == status.get("attempt"):
        return []
    return [f"{_path(job)} runs, and its log was not read"]


def check_nothing_to_do(job: Raw, listing: Listing, now: datetime, settings: Settings) -> Check:
    """A pass over what is listed now would write nothing, and no pod is still going."""
    observed = Observed(
        job=job,
        pods=listing.children_of("Pod", job),
        services=listing.children_of("Service", job),
        config_maps=listing.children_of("ConfigMap", job),
        nodes=dict(listing.nodes),
    )
    plan = reconcile(observed, now, settings)
    left = {
        "see off": [
            name_of(pod) for pod in observed.pods if "deletionTimestamp" in pod["metadata"]
        ],
        "delete": [delete.target.name for delete in plan.deletes],
        "create": [create.name for group in plan.creates for create in group],
        "patch": [patch.target.name for patch in plan.patches],
        "status": plan.status,
    }
    return [f"{_path(job)}: it is still to {what}: {of}" for what, of in left.items() if of]


def check_orphans(listing: Listing) -> Check:
    """Every child belongs to a job that there is."""
    uids = {uid_of(job) for job in listing.jobs}
    return [
        f"{kind} {namespace_of(obj)}/{name_of(obj)} belongs to a job that is gone"
        for kind in KINDS
        for obj in listing.children[kind]
        if (controller_of(obj) or {}).get("kind") == KIND and _owner_uid(obj) not in uids
    ]


def check_foreign(before: Iterable[Raw], after: Iterable[Raw]) -> Check:
    """Objects that only look as if they were the operator's stay as they were made."""
    now = {uid_of(obj): obj for obj in after}
    return [
        f"{obj['kind']} {namespace_of(obj)}/{name_of(obj)} is somebody else's and was touched"
        for obj in before
        if _essence(obj) != _essence(now.get(uid_of(obj)))
    ]


def check_rest(writes: Iterable[str]) -> Check:
    """Nothing is written at rest."""
    return [f"written at rest: {write}" for write in writes]


def check_log(name: str, text: str) -> Check:
    """No exception was raised that nobody had thought of."""
    at = text.find("Traceback")
    return [f"{name} raised: {text[max(0, at - 400) : at + 3000]}"] if at >= 0 else []


def _essence(obj: Raw | None) -> Raw | None:
    """What an operator could change of an object."""
    if obj is None:
        return None
    metadata = {**obj["metadata"], "managedFields": None, "resourceVersion": None}
    return {
        **obj,
        "metadata": metadata,
        "status": obj.get("status") if obj["kind"] == KIND else None,
    }


def _owner_uid(obj: Raw) -> str:
    return str((controller_of(obj) or {}).get("uid", ""))


def _role(pod: Raw) -> str:
    return labels_of(pod).get("batch.paddlepaddle.org/role", "")


def _path(job: Raw) -> str:
    return f"{namespace_of(job)}/{name_of(job)}"
