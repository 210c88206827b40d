"""Fluent builders of raw objects: `a_job().with_ps(2).with_workers(2).build()`.

They build what the API server would store, with no more than the tests read.
"""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from api.constants import API_VERSION, KIND, LABEL_INDEX, LABEL_ROLE, Role
from api.job import parse_job, pod_name
from api.objects import Raw, format_time
from reconcile.failure.incident import Incident, find_incident
from reconcile.model.hold import Hold
from reconcile.model.plan import Observed, Plan, Settings
from reconcile.model.view import View, build_view
from reconcile.objects.rendezvous import child_labels
from reconcile.reconcile import ask, reconcile

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
"""When every test begins."""


def at(seconds: float) -> datetime:
    """So long after the beginning."""
    return NOW + timedelta(seconds=seconds)


def stamp(seconds: float = 0.0) -> str:
    """A metav1.Time so long after the beginning."""
    return format_time(at(seconds))


def a_template(**pod_spec: Any) -> Raw:
    """A pod template with one trainer container, its pod spec's fields overridden."""
    container = {"name": "paddle", "image": "train:1"}
    return {"spec": {"containers": [container], **pod_spec}}


class JobBuilder:
    """A PaddleJob in the making. Every `with_` returns the builder itself."""

    def __init__(self, name: str, uid: str) -> None:
        self._raw: Raw = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": uid,
                "generation": 1,
                "creationTimestamp": format_time(NOW),
            },
            "spec": {},
        }

    def with_role(self, role: Role, replicas: int, template: Raw | None = None) -> Self:
        self._raw["spec"][str(role)] = {
            "replicas": replicas,
            "template": template or a_template(),
        }
        return self

    def with_ps(self, replicas: int, template: Raw | None = None) -> Self:
        return self.with_role(Role.PS, replicas, template)

    def with_workers(self, replicas: int, template: Raw | None = None) -> Self:
        return self.with_role(Role.WORKER, replicas, template)

    def with_heter(self, replicas: int, template: Raw | None = None) -> Self:
        return self.with_role(Role.HETER, replicas, template)

    def with_elastic_workers(self, replicas: int, least: int, most: int) -> Self:
        self.with_workers(replicas)
        self._raw["spec"]["worker"] |= {"requests": least, "limits": most}
        return self.with_spec(elastic=1)

    def with_spec(self, **fields: Any) -> Self:
        """Fields of the spec by their JSON names."""
        self._raw["spec"] |= fields
        return self

    def with_status(self, **fields: Any) -> Self:
        """Fields of the status by their JSON names."""
        self._raw["status"] = {**self._raw.get("status", {}), **fields}
        return self

    def with_metadata(self, **fields: Any) -> Self:
        self._raw["metadata"] |= fields
        return self

    def with_condition(
        self, type_: str, status: bool, since: float = 0.0, reason: str = "R"
    ) -> Self:
        conditions = self._raw.setdefault("status", {}).setdefault("conditions", [])
        conditions.append(
            {
                "type": type_,
                "status": "True" if status else "False",
                "reason": reason,
                "message": "",
                "lastTransitionTime": stamp(since),
            }
        )
        return self

    def build(self) -> Raw:
        return deepcopy(self._raw)


class PodBuilder:
    """A pod of a job in the making: bound and waiting unless told otherwise."""

    def __init__(self, job: Raw, role: Role, index: int, attempt: int) -> None:
        parsed = parse_job(job)
        name = pod_name(parsed.name, role, index)
        labels = child_labels(parsed, attempt) | {LABEL_ROLE: str(role), LABEL_INDEX: str(index)}
        self._container: Raw = {"name": "paddle", "restartCount": 0, "state": {}}
        self._raw: Raw = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": parsed.namespace,
                "uid": f"uid-{name}-{attempt}",
                "creationTimestamp": stamp(),
                "labels": labels,
                "ownerReferences": [parsed.owner_reference()],
            },
            "spec": {"restartPolicy": "Never", "containers": [{"name": "paddle"}]},
            "status": {"phase": "Pending", "conditions": []},
        }

    def bound(self, node: str = "node-1", seconds: float = 0.0) -> Self:
        self._raw["spec"]["nodeName"] = node
        return self.with_condition("PodScheduled", seconds=seconds)

    def with_address(self, address: str) -> Self:
        self._raw["status"]["podIP"] = address
        return self

    def waiting(self, reason: str, message: str = "") -> Self:
        return self._in_state("Pending", {"waiting": {"reason": reason, "message": message}})

    def running(self, seconds: float = 0.0, address: str | None = None) -> Self:
        self._place(address)
        return self._in_state("Running", {"running": {"startedAt": stamp(seconds)}})

    def ended(self, code: int, seconds: float = 0.0, started: float = 0.0, **fields: Any) -> Self:
        """The trainer has exited; further fields of the terminated state by their names."""
        self._place(None)
        terminated = {
            "exitCode": code,
            "reason": "Completed" if code == 0 else "Error",
            "startedAt": stamp(started),
            "finishedAt": stamp(seconds),
            **fields,
        }
        return self._in_state("Failed" if code else "Succeeded", {"terminated": terminated})

    def restarted(self, times: int) -> Self:
        self._raw["spec"]["restartPolicy"] = "OnFailure"
        self._container["restartCount"] = times
        return self

    def deleting(self, seconds: float = 0.0) -> Self:
        """Its grace ends so long after the beginning."""
        self._raw["metadata"]["deletionTimestamp"] = stamp(seconds)
        return self

    def with_condition(
        self, type_: str, status: str = "True", seconds: float = 0.0, **fields: Any
    ) -> Self:
        self._raw["status"]["conditions"].append(
            {"type": type_, "status": status, "lastTransitionTime": stamp(seconds), **fields}
        )
        return self

    def with_status(self, **fields: Any) -> Self:
        self._raw["status"] |= fields
        return self

    def with_container(self, name: str, state: Raw, **fields: Any) -> Self:
        """A further container's status, before the trainer's."""
        statuses = self._raw["status"].setdefault("containerStatuses", [])
        statuses.insert(0, {"name": name, "restartCount": 0, "state": state, **fields})
        return self

    def with_init_container(self, name: str, state: Raw, **fields: Any) -> Self:
        statuses = self._raw["status"].setdefault("initContainerStatuses", [])
        statuses.append({"name": name, "restartCount": 0, "state": state, **fields})
        return self

    def with_labels(self, **labels: str) -> Self:
        self._raw["metadata"]["labels"] |= labels
        return self

    def build(self) -> Raw:
        return deepcopy(self._raw)

    def _place(self, address: str | None) -> None:
        if "nodeName" not in self._raw["spec"]:
            self.bound()
        labels = self._raw["metadata"]["labels"]
        self._raw["status"].setdefault("podIP", address or _address(labels))

    def _in_state(self, phase: str, state: Raw) -> Self:
        self._raw["status"]["phase"] = phase
        statuses = self._raw["status"].setdefault("containerStatuses", [])
        self._container["state"] = state
        if self._container not in statuses:
            statuses.append(self._container)
        return self


def a_job(name: str = "train", uid: str = "0123abcd-uid") -> JobBuilder:
    """A job without roles."""
    return JobBuilder(name, uid)


def a_pod(job: Raw, role: Role = Role.WORKER, index: int = 0, attempt: int = 1) -> PodBuilder:
    """A pod of the job, neither bound nor started."""
    return PodBuilder(job, role, index, attempt)


def view_of(
    job: JobBuilder | Raw,
    *pods: PodBuilder | Raw,
    seconds: float = 0.0,
    settings: Settings | None = None,
    **observed: Any,
) -> View:
    """What a pass sees of the job and these pods, so long after the beginning."""
    raw = job.build() if isinstance(job, JobBuilder) else job
    built = tuple(pod.build() if isinstance(pod, PodBuilder) else pod for pod in pods)
    return build_view(Observed(raw, built, **observed), at(seconds), settings or Settings())


def a_config_map(seconds: float = 0.0, **data: str) -> Raw:
    """The first attempt's ConfigMap, made so long after the beginning."""
    labels = {"batch.paddlepaddle.org/attempt": "1"}
    metadata = {"name": "train", "labels": labels, "creationTimestamp": stamp(seconds)}
    return {"metadata": metadata, "data": data}


def plan_of(view: View) -> Plan:
    """What the pass decides."""
    return reconcile(view.observed, view.now, view.settings)


def status_of(plan: Plan) -> Raw:
    """What the plan writes to status."""
    assert plan.status is not None
    status: Raw = plan.status["status"]
    return status


def incident_of(view: View) -> Incident:
    """What ends the attempt."""
    incident = find_incident(view)
    assert incident is not None
    return incident


def hold_of(view: View) -> Hold | None:
    """What the job says that it waits for, if anything."""
    return ask(view)[0].reported_hold


def wait_of(view: View) -> Hold:
    """What the job says that it waits for."""
    hold = hold_of(view)
    assert hold is not None
    return hold


def cause_of(message: str) -> str:
    """The first half of a condition's sentence."""
    return message.partition("; next: ")[0]


def _address(labels: dict[str, str]) -> str:
    """An address that tells the role and the index: 10.0.<role>.<index + 1>."""
    role = list(Role).index(Role(labels[LABEL_ROLE]))
    return f"10.0.{role}.{int(labels[LABEL_INDEX]) + 1}"
