"""Rules in Python that a PaddleJob's schema cannot express.

The operator checks a job before it creates the first child. The rules are those of `rules`, for API
servers without CEL, and some that CEL cannot express, about variables and names of the templates'
containers. Rules about changes are missing, because only the API server has both versions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from api import rules
from api.constants import MAX_CHILD_NAME, MAX_REPLICAS, PORTS_PER_POD, Role
from api.job import pod_name
from api.objects import Raw, name_of
from api.spec import JobSpec, RoleSpec, parse_spec
from api.trainer import PORT_VARIABLE, trainer_of
from api.training import StallSign

MAX_PORT = 65536 - PORTS_PER_POD
"""The highest first port with which all ports of a pod are valid."""
PORT_MESSAGE = (
    f"must be a literal port from 1 to {MAX_PORT}: it becomes the first of the {PORTS_PER_POD} "
    "ports of every pod of the job"
)
SAME_PORT_MESSAGE = (
    "must be the same in the trainer containers of all roles, or be set in none of them"
)
CONTAINER_MESSAGE = "is the name of no container or init container of any role"


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error: the field's path from the object's root, and why it is wrong."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


Errors = Iterator[FieldError]


def validate_job(raw: Raw) -> list[FieldError]:
    """All errors of a PaddleJob that its schema accepts; empty if it can run."""
    spec = parse_spec(raw["spec"])
    return [
        *_check_names(name_of(raw), spec),
        *_check_roles(spec),
        *_check_fields(raw["spec"], spec),
        *_check_failure_policy(spec),
        *_check_port(spec),
    ]


def _check_names(name: str, spec: JobSpec) -> Errors:
    if not re.fullmatch(rules.NAME_PATTERN, name):
        yield FieldError("metadata.name", rules.NAME_MESSAGE)
    last_names = (pod_name(name, role, wanted.most - 1) for role, wanted in spec.roles.items())
    if any(len(last) > MAX_CHILD_NAME for last in last_names):
        yield FieldError("metadata.name", rules.CHILD_NAME_MESSAGE)


def _check_roles(spec: JobSpec) -> Errors:
    if Role.WORKER not in spec.roles:
        yield FieldError("spec.worker", "required: a job without workers trains nothing")
    for role, wanted in spec.roles.items():
        yield from _check_role(f"spec.{role}", wanted)
    if sum(role.most for role in spec.roles.values()) > MAX_REPLICAS:
        yield FieldError("spec", rules.TOTAL_MESSAGE)


def _check_role(path: str, role: RoleSpec) -> Errors:
    if not 1 <= role.replicas <= MAX_REPLICAS:
        yield FieldError(f"{path}.replicas", f"must be from 1 to {MAX_REPLICAS}")
    if role.least > role.replicas:
        yield FieldError(f"{path}.requests", rules.REQUESTS_MESSAGE)
    if role.most < role.replicas:
        yield FieldError(f"{path}.limits", rules.LIMITS_MESSAGE)
    if not role.pod_spec.get("containers"):
        yield FieldError(f"{path}.template.spec.containers", "must hold at least one container")
    if role.pod_spec.get("restartPolicy") == "Always":
        yield FieldError(f"{path}.template.spec.restartPolicy", rules.RESTART_POLICY_MESSAGE)
    yield from _check_container_restarts(f"{path}.template.spec", role.pod_spec)


def _check_container_restarts(path: str, pod: Raw) -> Errors:
    """Kubelets would start the trainer again (KEP-5307) after ends that the operator answers."""
    trainer, usual = trainer_of(pod), pod.get("restartPolicy") or "Never"
    for part in ("initContainers", "containers"):
        for at, container in enumerate(pod.get(part) or ()):
            asked = container.get("restartPolicyRules") or ()
            restarts_pod = any(rule.get("action") != "Restart" for rule in asked)
            is_own = asked or (container.get("restartPolicy") or usual) != usual
            if restarts_pod or (container is trainer and is_own):
                field = "restartPolicyRules" if asked else "restartPolicy"
                yield FieldError(f"{path}.{part}[{at}].{field}", rules.CONTAINER_RESTART_MESSAGE)


def _check_fields(raw: Raw, spec: JobSpec) -> Errors:
    stall, gang = spec.stall_policy, spec.scheduling_policy
    if spec.is_elastic and not spec.roles.keys() <= {Role.WORKER}:
        yield FieldError("spec.elastic", rules.ELASTIC_ROLES_MESSAGE)
    if spec.is_elastic and stall and stall.of is not StallSign.OUTPUT:
        yield FieldError("spec.stallPolicy.of", rules.ELASTIC_STALL_MESSAGE)
    first, second = raw.get("cleanPodPolicy"), raw.get("cleanPolicy")
    if first and second and first != second:
        yield FieldError("spec.cleanPolicy", rules.CLEAN_POLICY_MESSAGE)
    if gang and gang.min_available and gang.min_available > spec.total_replicas:
        yield FieldError("spec.schedulingPolicy.minAvailable", rules.MIN_AVAILABLE_MESSAGE)
    names = {role.pod_spec.get("schedulerName") or "" for role in spec.roles.values()} - {""}
    if len(names) > 1:
        yield FieldError("spec", rules.SCHEDULER_MESSAGE)


def _check_failure_policy(spec: JobSpec) -> Errors:
    if spec.pod_failure_policy is None:
        return
    if any(role.pod_spec.get("restartPolicy") == "OnFailure" for role in spec.roles.values()):
        yield FieldError("spec.podFailurePolicy", rules.FAILURE_POLICY_MESSAGE)
    names = {container.get("name") for container in _containers(spec)}
    for index, rule in enumerate(spec.pod_failure_policy.get("rules") or ()):
        yield from _check_failure_rule(f"spec.podFailurePolicy.rules[{index}]", rule, names)


def _check_failure_rule(path: str, rule: Raw, names: set[str | None]) -> Errors:
    codes = rule.get("onExitCodes")
    if (codes is None) == (rule.get("onPodConditions") is None):
        yield FieldError(path, rules.FAILURE_RULE_MESSAGE)
    if codes is None:
        return
    if codes.get("operator") == "In" and 0 in (codes.get("values") or ()):
        yield FieldError(f"{path}.onExitCodes.values", rules.EXIT_CODE_MESSAGE)
    if codes.get("containerName") and codes["containerName"] not in names:
        yield FieldError(f"{path}.onExitCodes.containerName", CONTAINER_MESSAGE)


def _containers(spec: JobSpec) -> Iterator[Raw]:
    for role in spec.roles.values():
        yield from role.pod_spec.get("containers") or ()
        yield from role.pod_spec.get("initContainers") or ()


def _check_port(spec: JobSpec) -> Errors:
    values = {role: _port_values(wanted) for role, wanted in spec.roles.items()}
    for role, found in values.items():
        if not all(map(_is_port, found)):
            yield FieldError(_port_path(role), PORT_MESSAGE)
    if len({*map(frozenset, values.values())}) > 1 or any(len(set(v)) > 1 for v in values.values()):
        role = next(role for role, found in values.items() if found)
        yield FieldError(_port_path(role), SAME_PORT_MESSAGE)


def _port_values(role: RoleSpec) -> list[str]:
    """The values of PADDLE_PORT in the trainer's env; "" for a value from elsewhere (valueFrom)."""
    env = trainer_of(role.pod_spec).get("env") or ()
    return [str(each.get("value") or "") for each in env if each.get("name") == PORT_VARIABLE]


def _is_port(text: str) -> bool:
    return bool(re.fullmatch("[1-9][0-9]{0,4}", text)) and int(text) <= MAX_PORT


def _port_path(role: Role) -> str:
    return f"spec.{role}.template.spec.containers[].env[{PORT_VARIABLE}]"
