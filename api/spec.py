"""A PaddleJob's spec as typed, read-only values, defaults filled in.

Parsing never fails on a spec that the schema accepts; further rules are in `validation`.
Pod templates stay raw JSON: they belong to the user and pass through.
"""

from dataclasses import dataclass
from typing import Any

from api.constants import CleanPodPolicy, Intranet, Mode, Role
from api.objects import Raw


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """One role: how many pods, the bounds of an elastic role, and the pods' template."""

    replicas: int
    requests: int | None
    limits: int | None
    template: Raw

    @property
    def least(self) -> int:
        """The fewest replicas with which the role works."""
        return self.replicas if self.requests is None else self.requests

    @property
    def most(self) -> int:
        """The most replicas that the role may have."""
        return self.replicas if self.limits is None else self.limits

    @property
    def pod_spec(self) -> Raw:
        """The template's pod spec."""
        spec: Raw = self.template.get("spec") or {}
        return spec


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """What the gang asks of the batch scheduler."""

    min_available: int | None
    queue: str
    priority_class: str
    min_resources: Raw | None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A PaddleJob's spec. `roles` holds only the roles that are set, in order of creation."""

    roles: dict[Role, RoleSpec]
    with_gloo: int
    clean_pod_policy: CleanPodPolicy
    intranet: Intranet
    scheduling_policy: SchedulingPolicy | None
    elastic: int
    backoff_limit: int | None
    pod_failure_policy: Raw | None
    active_deadline_seconds: int | None
    starting_deadline_seconds: int | None
    ttl_seconds_after_finished: int | None
    suspend: bool
    managed_by: str

    @property
    def mode(self) -> Mode:
        """Heter before PS before Collective before Single; only the roles decide."""
        if Role.HETER in self.roles:
            return Mode.HETER
        if Role.PS in self.roles:
            return Mode.PS
        worker = self.roles.get(Role.WORKER)
        if worker is not None and max(worker.replicas, worker.most) > 1:
            return Mode.COLLECTIVE
        return Mode.SINGLE

    @property
    def is_elastic(self) -> bool:
        """Whether PaddlePaddle's elastic launcher forms the job."""
        return self.elastic >= 1

    @property
    def total_replicas(self) -> int:
        """Pods that the job wants, over all roles."""
        return sum(role.replicas for role in self.roles.values())


def parse_spec(raw: Raw) -> JobSpec:
    """The typed spec of `PaddleJob.spec`, with defaults for what is unset."""
    return JobSpec(
        roles={role: _parse_role(raw[role]) for role in Role if raw.get(role) is not None},
        with_gloo=_or(raw.get("withGloo"), 1),
        clean_pod_policy=CleanPodPolicy(
            raw.get("cleanPodPolicy") or raw.get("cleanPolicy") or CleanPodPolicy.ON_COMPLETION
        ),
        intranet=Intranet(raw.get("intranet") or Intranet.POD_IP),
        scheduling_policy=_parse_scheduling_policy(raw.get("schedulingPolicy")),
        elastic=_or(raw.get("elastic"), 0),
        backoff_limit=raw.get("backoffLimit"),
        pod_failure_policy=raw.get("podFailurePolicy"),
        active_deadline_seconds=raw.get("activeDeadlineSeconds"),
        starting_deadline_seconds=raw.get("startingDeadlineSeconds"),
        ttl_seconds_after_finished=raw.get("ttlSecondsAfterFinished"),
        suspend=bool(raw.get("suspend")),
        managed_by=raw.get("managedBy") or "",
    )


def _parse_role(raw: Raw) -> RoleSpec:
    return RoleSpec(
        replicas=_or(raw.get("replicas"), 1),
        requests=raw.get("requests"),
        limits=raw.get("limits"),
        template=raw.get("template") or {},
    )


def _parse_scheduling_policy(raw: Raw | None) -> SchedulingPolicy | None:
    if raw is None:
        return None
    return SchedulingPolicy(
        min_available=raw.get("minAvailable"),
        queue=raw.get("queue") or "",
        priority_class=raw.get("priorityClass") or "",
        min_resources=raw.get("minResources"),
    )


def _or(value: Any, default: int) -> int:
    return default if value is None else int(value)
