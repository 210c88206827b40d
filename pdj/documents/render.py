"""The children that the operator would create for a job, from the operator's own `reconcile`.

`reconcile` is called repeatedly, each time with the children that it has created so far, until
nothing is missing. The addresses and the UID, which a cluster would assign, are made up.
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from api.constants import VOLCANO_API_VERSION, Condition
from api.objects import Raw, condition_of, format_time, name_of
from pdj.documents.checks import find_errors, is_job, with_name
from pdj.documents.reader import Document
from pdj.errors import Problem, Usage
from reconcile.children.gang_hold import USER_POD_GROUP_WAIT_SECONDS
from reconcile.model.plan import Observed, Plan, Settings
from reconcile.reconcile import reconcile

VOLCANO_POD_GROUP = f"{VOLCANO_API_VERSION}/PodGroup"
MADE_UP_UID = "00000000-0000-0000-0000-000000000000"
FIRST_ADDRESS = ipaddress.ip_address("198.18.0.1")
MAX_PASSES = 10


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a cluster would provide: the job's UID, the pods' addresses, and what is installed."""

    uid: str = MADE_UP_UID
    address_of: Callable[[str, int], str] = lambda _name, at: str(FIRST_ADDRESS + at)
    settings: Settings = field(default_factory=Settings)
    """The operator's settings."""
    pod_group: Raw | None = None
    """The user's PodGroup with the job's name, which the pods would join."""


def render_all(
    documents: list[Document], now: datetime, namespace: str = "", settings: Settings | None = None
) -> list[Raw]:
    """The children of every job among these documents, in which a PodGroup may be the user's.

    An empty `namespace` is the job's own. Raises Problem for a job that would be refused, and Usage
    if there is none.
    """
    groups = {_name(each): each.value for each in documents if each.kind == VOLCANO_POD_GROUP}
    children: list[Raw] = []
    for document in filter(is_job, documents):
        for error in find_errors(document):
            raise Problem(f"{document.file}:{error.line}: {error.path}: {error.message}")
        metadata = with_name(document.value)["metadata"]
        where = {"namespace": namespace or metadata.get("namespace") or "default"}
        job = {**document.value, "metadata": {**metadata, **where}}
        around = Surroundings(settings=settings or Settings(), pod_group=groups.get(name_of(job)))
        children += render(job, now, around)
    if not any(map(is_job, documents)):
        raise Usage("the files contain no PaddleJob")
    return children


def _name(document: Document) -> str:
    metadata = document.value.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""


def render(job: Raw, now: datetime, around: Surroundings | None = None) -> list[Raw]:
    """The job's children in the order of their creation, even if the job is suspended.

    Raises Problem if the operator would fail the job.
    """
    around = around or Surroundings()
    metadata = {**job["metadata"], "uid": around.uid, "creationTimestamp": format_time(now)}
    job = {**job, "metadata": {"namespace": "default", "generation": 1, **metadata}}
    job = {**job, "spec": {**job["spec"], "suspend": False}}
    observed = Observed(
        job, named_pod_group=around.pod_group, volcano_served=True, gang_served=True
    )
    made: list[Raw] = []
    for _ in range(MAX_PASSES):
        plan = reconcile(observed, now, around.settings)
        new = [create.build() for group in plan.creates for create in group]
        made += new
        wait = _wait(plan)
        if not new and plan.status is None and not wait:
            break
        now += timedelta(seconds=wait)
        observed = _after(observed, plan, new, around)
    return made


def _wait(plan: Plan) -> float:
    """Seconds for which the operator would delay the pods, because the user can still create a
    PodGroup.
    """
    seconds = plan.requeue_after or 0.0
    return seconds if not plan.creates and seconds <= USER_POD_GROUP_WAIT_SECONDS else 0.0


def _after(observed: Observed, plan: Plan, new: list[Raw], around: Surroundings) -> Observed:
    """What the operator would observe in the next pass."""
    status = _patched(observed.job.get("status") or {}, (plan.status or {}).get("status") or {})
    if failed := condition_of({"status": status}, Condition.FAILED):
        raise Problem(f"the operator would fail the job: {failed['message']}")
    count = len(observed.pods)
    pods = [
        _with_address(pod, around.address_of(name_of(pod), count + at))
        for at, pod in enumerate(each for each in new if each["kind"] == "Pod")
    ]
    return replace(
        observed,
        job={**observed.job, "status": status},
        pods=observed.pods + tuple(pods),
        services=observed.services + _of(new, "Service"),
        config_maps=observed.config_maps + _of(new, "ConfigMap"),
        pod_groups=observed.pod_groups + _of(new, "PodGroup"),
    )


def _of(objects: list[Raw], kind: str) -> tuple[Raw, ...]:
    return tuple(each for each in objects if each["kind"] == kind)


def _with_address(pod: Raw, address: str) -> Raw:
    status = {"phase": "Pending", "podIP": address, "hostIP": address}
    return {**pod, "spec": {**pod["spec"], "nodeName": "node"}, "status": status}


def _patched(status: Raw, patch: Raw) -> Raw:
    """Apply a JSON merge patch; unknown status fields are dropped."""
    merged = {**status}
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _patched(merged[key], value)
        else:
            merged[key] = value
    return {key: value for key, value in merged.items() if value is not None}
