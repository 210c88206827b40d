"""Everything that a pass derives from its observation: computed once, read by every step."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from api.constants import PORT, CleanPodPolicy, Condition, Intranet, Phase, Role
from api.job import PaddleJob, config_map_name, parse_job, pod_name
from api.objects import Raw, changed, is_deleting, name_of
from api.status import RoleStatus
from api.trainer import PORT_VARIABLE, container_names, trainer_of
from reconcile.model.hold import Hold
from reconcile.model.indexes import parse_indexes
from reconcile.model.pause import pause_after
from reconcile.model.plan import Observed, Settings
from reconcile.model.pods import PodState, PodView, view_pod
from reconcile.model.skew import follow_clock
from reconcile.model.training import Reading
from reconcile.model.workload import find_workload, limit_replicas


@dataclass(frozen=True)
class View:
    """One job and its children, as the store shows them now. Everything in it is read-only.

    Only to `holds`, `reconcile` adds those of the policies that were already asked in this pass.
    """

    job: PaddleJob
    observed: Observed
    now: datetime
    settings: Settings
    holds: list[Hold] = field(default_factory=list)

    @cached_property
    def attempt(self) -> int:
        """The current attempt: from status, else the latest one of the pods, else 1."""
        return self.job.status.attempt or max((1, *(pod.attempt for pod in self.all_pods)))

    @property
    def training(self) -> Reading | None:
        """What this process has read of the attempt's log; None if it has read nothing of it."""
        reading = self.observed.training
        return reading if reading is not None and reading.attempt == self.attempt else None

    @property
    def clean_pod_policy(self) -> CleanPodPolicy | None:
        """The job's cleanPodPolicy, or the operator's default; None if neither is set."""
        return self.job.spec.clean_pod_policy or self.settings.default_clean_pod_policy

    @cached_property
    def is_behind(self) -> bool:
        """Whether there are pods of an attempt that is not in status yet.

        The watch of each kind has its own delay, so a new leader can see the last pods of its
        predecessor before the status that led to them.
        """
        return any(pod.attempt > self.attempt for pod in self.all_pods)

    @cached_property
    def is_inherited(self) -> bool:
        """Whether another operator wrote the status: it has a phase, but no attempt."""
        return bool(self.job.status.phase) and not self.job.status.attempt

    @cached_property
    def is_adopted(self) -> bool:
        """Whether another operator created the pods of this attempt."""
        return self.attempt == 1 and self.job.status.is_true(Condition.ADOPTED)

    @cached_property
    def all_pods(self) -> tuple[PodView, ...]:
        """Every pod that the job controls, whatever its attempt, in order of their names.

        The cache orders them by their latest events, and no message must depend on that.
        """
        names = {role: container_names(spec.pod_spec) for role, spec in self.job.spec.roles.items()}
        return tuple(view_pod(raw, names) for raw in sorted(self.observed.pods, key=name_of))

    @cached_property
    def pods(self) -> dict[str, PodView]:
        """The wanted pods of this attempt, by name; one that succeeded in status stays so."""
        wanted = {pod.name: pod for pod in self.all_pods if self._is_wanted(pod)}
        for pod in wanted.values():
            if pod.role and pod.index in self._known_done[pod.role]:
                wanted[pod.name] = changed(pod, state=PodState.SUCCEEDED)
        return wanted

    @cached_property
    def obsolete(self) -> tuple[PodView, ...]:
        """Pods to delete: those of any other attempt, and those beyond the replicas."""
        return tuple(pod for pod in self.all_pods if not self._is_wanted(pod))

    @cached_property
    def previous_pods(self) -> tuple[PodView, ...]:
        """Pods of ended attempts that still exist."""
        return tuple(pod for pod in self.all_pods if pod.attempt < self.attempt)

    @cached_property
    def wanted(self) -> dict[str, tuple[Role, int]]:
        """Name -> (role, index) of each pod that this attempt needs, servers first."""
        return {
            pod_name(self.job.name, role, index): (role, index)
            for role, spec in self.job.spec.roles.items()
            for index in range(spec.replicas)
        }

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Names of wanted pods that do not exist and have not succeeded before."""
        return tuple(
            name
            for name, (role, index) in self.wanted.items()
            if name not in self.pods and index not in self.completed.get(role, frozenset())
        )

    @cached_property
    def is_placed(self) -> bool:
        """Whether every wanted pod has a node or has succeeded."""
        return not self.missing and all(pod.node for pod in self.pods.values())

    @cached_property
    def lacking(self) -> tuple[str, ...]:
        """Names of missing pods that will be created, now or later.

        After a worker of an elastic job has succeeded, none is created. A new launcher would wipe
        its peers' entries in etcd, including the one that says that training is over, and the peers
        would train again.
        """
        is_over = self.job.spec.is_elastic and self.completed[Role.WORKER]
        return () if is_over else self.missing

    @cached_property
    def completed(self) -> dict[Role, frozenset[int]]:
        """Indexes that succeeded in this attempt: seen now, or stored in status."""
        return {
            role: known
            | {pod.index for pod in self.of_role(role) if pod.state is PodState.SUCCEEDED}
            for role, known in self._known_done.items()
        }

    @cached_property
    def _known_done(self) -> dict[Role, frozenset[int]]:
        """Indexes that succeeded in this attempt according to status."""
        roles = self.job.spec.roles
        return {role: parse_indexes(self.role_status(role).completed_indexes) for role in roles}

    @cached_property
    def workload(self) -> Raw | None:
        """The job's own Workload, if it exists and is not being deleted."""
        return find_workload(self.job, self.observed.workloads)

    @cached_property
    def templates_digest(self) -> str:
        """The digest of the roles' templates, as the user wrote them."""
        templates = {role: spec.template for role, spec in self.job.spec.roles.items()}
        return hashlib.sha256(json.dumps(templates, sort_keys=True).encode()).hexdigest()

    @cached_property
    def config_map_name(self) -> str:
        """The name of this attempt's ConfigMap."""
        return config_map_name(self.job.name, self.attempt)

    @cached_property
    def config_map(self) -> Raw | None:
        """This attempt's ConfigMap, if it exists and is not being deleted."""
        maps = (m for m in self.observed.config_maps if name_of(m) == self.config_map_name)
        return next((each for each in maps if not is_deleting(each)), None)

    @cached_property
    def published(self) -> dict[str, list[str]]:
        """The values in the attempt's ConfigMap, split at commas; empty without a ConfigMap."""
        data: dict[str, str] = (self.config_map or {}).get("data") or {}
        return {name: told.split(",") for name, told in data.items()}

    @cached_property
    def all_run(self) -> bool:
        """Whether every wanted pod runs or has succeeded, and no obsolete pod is left."""
        up_or_done = (PodState.RUNNING, PodState.SUCCEEDED)
        is_exact = not self.missing and not self.obsolete
        return is_exact and all(pod.state in up_or_done for pod in self.pods.values())

    @cached_property
    def has_started(self) -> bool:
        """Whether a process of this attempt has perhaps read its peers' addresses."""
        return self.config_map is not None or any(pod.has_started for pod in self.pods.values())

    @cached_property
    def was_whole(self) -> bool:
        """Whether every pod of this attempt has existed, so a missing pod must have vanished.

        Before that, a missing pod is still to be created, even if other pods already run, because
        several passes create the pods of a wide job.
        """
        phase = self.job.status.phase
        if self.is_adopted:
            return True
        return self.config_map is not None or phase not in ("", Phase.PENDING, Phase.RESTARTING)

    @cached_property
    def age_seconds(self) -> float:
        """Seconds since the job was created."""
        return (self.now - self.job.created_at).total_seconds()

    @cached_property
    def host_roles(self) -> frozenset[Role]:
        """The roles whose pods have port ranges of their own.

        None in an attempt that an older operator began without ranges, so that it goes on.
        """
        spec, has_begun = self.job.spec, bool(self.pods) or self.config_map is not None
        is_older = has_begun and not self.job.status.host_ports
        return frozenset() if is_older and spec.intranet is not Intranet.HOST else spec.host_roles

    @cached_property
    def pause_seconds(self) -> float:
        """Seconds for which nothing is created because the API server refused a child; else 0.

        Rounded to milliseconds, because a tiny remainder of a float would cost one more pass.
        """
        seen = self.observed
        pause = pause_after(seen.refused_times, seen.paused_in_namespace)
        return max(0.0, round(pause - seen.refused_seconds, 3)) if seen.refusals else 0.0

    @property
    def reported_hold(self) -> Hold | None:
        """The hold that the status reports: the first with a reason; None if there is none."""
        return next((hold for hold in self.holds if hold.reason), None)

    @cached_property
    def port(self) -> int:
        """The first port of every pod: the templates' literal PADDLE_PORT, else 36000.

        Validation has checked that all roles use the same port. With intranet Host, each pod has a
        port of its own instead.
        """
        for role in self.job.spec.roles.values():
            for variable in trainer_of(role.pod_spec).get("env") or ():
                value = variable.get("value") or ""
                if variable.get("name") == PORT_VARIABLE and value.isdecimal():
                    return int(value)
        return PORT

    def of_role(self, role: Role) -> Iterator[PodView]:
        """The wanted pods of one role that exist."""
        return (pod for pod in self.pods.values() if pod.role is role)

    def role_status(self, role: Role) -> RoleStatus:
        """The stored counts of a role."""
        return self.job.status.roles.get(role) or RoleStatus()

    def _is_wanted(self, pod: PodView) -> bool:
        return pod.attempt == self.attempt and self.wanted.get(pod.name) == (pod.role, pod.index)


def build_view(observed: Observed, now: datetime, settings: Settings) -> View:
    """The view of an observed job; raises what `parse_job` raises."""
    job = parse_job(observed.job)
    if (workload := find_workload(job, observed.workloads)) is not None:
        job = limit_replicas(job, workload)
    return View(changed(job, status=follow_clock(job.status, now)), observed, now, settings)
