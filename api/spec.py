"""A PaddleJob's spec as typed, read-only values, with defaults filled in.

Parsing never fails on a spec that the schema accepts; further rules are in `validation`.
Pod templates stay raw JSON, because they are passed on almost unchanged.
"""

from dataclasses import dataclass, field

from api.constants import CleanPodPolicy, Intranet, Mode, Role
from api.objects import Raw, parse_fields
from api.training import (
    FIRST_STEP_FACTOR,
    STALL_SECONDS,
    NotFiniteAction,
    Resume,
    StallAction,
    StallPolicy,
    StallSign,
)


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """One role: how many pods, the bounds of an elastic role, and the pods' template."""

    replicas: int = 1
    requests: int | None = None
    limits: int | None = None
    template: Raw = field(default_factory=dict)

    @property
    def least(self) -> int:
        """The fewest replicas with which the role works."""
        return self.replicas if self.requests is None else self.requests

    @property
    def most(self) -> int:
        """The most replicas that the role can have."""
        return self.replicas if self.limits is None else self.limits

    @property
    def pod_spec(self) -> Raw:
        """The template's pod spec."""
        return self.template.get("spec") or {}


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """The job's settings for gang scheduling."""

    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""
    min_resources: Raw | None = None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A PaddleJob's spec. `roles` has only the roles that are set, in order of creation."""

    roles: dict[Role, RoleSpec]
    clean_pod_policy: CleanPodPolicy | None
    """None if neither cleanPodPolicy nor cleanPolicy is set: the operator's flag decides."""
    intranet: Intranet
    scheduling_policy: SchedulingPolicy | None
    with_gloo: int = 1
    elastic: int = 0
    backoff_limit: int | None = None
    pod_failure_policy: Raw | None = None
    active_deadline_seconds: int | None = None
    starting_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    managed_by: str = ""
    stall_policy: StallPolicy | None = None
    resume: Resume | None = None

    @property
    def mode(self) -> Mode:
        """The first of the modes Heter, PS, Collective and Single that fits the roles."""
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
        """Whether the job uses PaddlePaddle's elastic launcher."""
        return self.elastic >= 1

    @property
    def has_workers_only(self) -> bool:
        """Whether the job has only workers and is not elastic: then the operator sets the ranks."""
        return set(self.roles) == {Role.WORKER} and not self.is_elastic

    @property
    def host_roles(self) -> frozenset[Role]:
        """The roles whose pods are on their nodes' network and need ports of their own.

        That is `intranet: Host`, or hostNetwork in a template. With the latter, one pod alone needs
        none, as no other pod of the job has its address.
        """
        if self.intranet is Intranet.HOST:
            return frozenset(self.roles)
        found = {role for role, spec in self.roles.items() if spec.pod_spec.get("hostNetwork")}
        return frozenset(found if sum(self.roles[role].most for role in found) > 1 else ())

    @property
    def least_replicas(self) -> int:
        """The fewest pods with which the job works, over all roles."""
        if not self.is_elastic:
            return self.total_replicas
        return sum(role.least for role in self.roles.values())

    @property
    def total_replicas(self) -> int:
        """Pods that the job wants, over all roles."""
        return sum(role.replicas for role in self.roles.values())


def parse_spec(raw: Raw) -> JobSpec:
    """The typed spec of `PaddleJob.spec`, with defaults for what is unset."""
    roles = {role: raw[role] for role in Role if raw.get(role) is not None}
    policy = raw.get("schedulingPolicy")
    clean = raw.get("cleanPodPolicy") or raw.get("cleanPolicy")
    stall = parse_stall_policy(raw.get("stallPolicy"))
    return parse_fields(
        JobSpec,
        raw,
        roles={role: parse_fields(RoleSpec, wanted) for role, wanted in roles.items()},
        clean_pod_policy=CleanPodPolicy(clean) if clean else None,
        intranet=Intranet(raw.get("intranet") or Intranet.POD_IP),
        stall_policy=stall,
        resume=Resume(raw["resume"]) if raw.get("resume") else None,
        scheduling_policy=None if policy is None else parse_fields(SchedulingPolicy, policy),
    )


def parse_stall_policy(raw: Raw | None) -> StallPolicy | None:
    """The typed `spec.stallPolicy`; None if the job has none."""
    if raw is None:
        return None
    after = raw.get("afterSeconds") or STALL_SECONDS
    return StallPolicy(
        after,
        raw.get("firstStepSeconds") or FIRST_STEP_FACTOR * after,
        StallSign(raw.get("of") or StallSign.OUTPUT),
        StallAction(raw.get("action") or StallAction.EVENT),
        NotFiniteAction(raw.get("notFinite") or NotFiniteAction.EVENT),
    )
