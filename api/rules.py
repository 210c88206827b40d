"""Rules in CEL that a schema cannot express. The API server checks them at admission.

`validation` has the same rules in Python, except those about changes. The expressions use only what
Kubernetes 1.25 knows (no optionals, no fieldPath). So a rule is attached to the field that its
error should name, or its message names the field. A rule that reads `oldSelf` is checked on updates
only. No rule loops over a list of the pod template: these lists have no maximum length, and the API
server refuses a rule that is too expensive in the worst case. `validation` does such checks.
"""

from itertools import combinations

from api.constants import MAX_CHILD_NAME, MAX_REPLICAS, Role
from api.objects import Raw

MUTABLE_POD_FIELDS = frozenset({"nodeSelector", "affinity", "tolerations", "schedulingGates"})
"""The pod fields that a queue controller can change while the job is suspended and has no pods."""

_INVISIBLE = frozenset({"overhead"})
"""Fields that CEL cannot read: maps of quantities, which have no type in the schema."""

NAME_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
NAME_MESSAGE = (
    "must be a DNS-1035 label: lower case letters, digits and '-', a letter first, and a letter "
    "or digit last"
)
CHILD_NAME_MESSAGE = (
    "metadata.name is too long: a pod's name, <name>-<role>-<index>, must fit in "
    f"{MAX_CHILD_NAME} characters for the highest index of every role"
)
RESTART_POLICY_MESSAGE = (
    "must be Never (as when unset) or OnFailure: with Always a trainer that has finished would "
    "start again"
)
CONTAINER_RESTART_MESSAGE = (
    "the trainer's container must leave out restartPolicy and restartPolicyRules, as the pod's "
    "restartPolicy says whether it starts again in place; and no rule may restart the whole pod: "
    "the operator does that"
)
ELASTIC_ROLES_MESSAGE = "an elastic job has workers only: spec.elastic needs ps and heter unset"
ELASTIC_STALL_MESSAGE = (
    "stallPolicy.of must be Output in an elastic job: its launchers form new groups between steps"
)
TOTAL_MESSAGE = f"the replicas (or limits) of all roles must not sum up to more than {MAX_REPLICAS}"
FAILURE_POLICY_MESSAGE = (
    "podFailurePolicy needs restartPolicy Never in the template of every role: with OnFailure the "
    "node restarts containers in place"
)
CLEAN_POLICY_MESSAGE = (
    "cleanPolicy and cleanPodPolicy mean the same and must not differ; set cleanPodPolicy alone"
)
MIN_AVAILABLE_MESSAGE = (
    "schedulingPolicy.minAvailable must not be more than the replicas of all roles together"
)
SCHEDULER_MESSAGE = (
    "template.spec.schedulerName must be the same in every role that sets it: one scheduler places "
    "a gang"
)
REQUESTS_MESSAGE = "requests must not be more than replicas"
LIMITS_MESSAGE = "limits must not be less than replicas"
FAILURE_RULE_MESSAGE = "set exactly one of onExitCodes and onPodConditions"
EXIT_CODE_MESSAGE = "with operator In, values must not contain 0: exit code 0 is not a failure"

_HELD = (
    "(has(oldSelf.spec.suspend) && oldSelf.spec.suspend && (!has(oldSelf.status) || "
    "!has(oldSelf.status.phase) || oldSelf.status.phase == 'Suspended'))"
)
"""CEL: before the update, the job was suspended, and its phase was Suspended or not yet set."""

_STATUS_WRITE = (
    "has(self.status.phase) != has(oldSelf.status.phase) || "
    "(has(self.status.phase) && self.status.phase != oldSelf.status.phase)"
)
"""True only for updates of the status that change the phase, else false.

Nobody can change the status through the main resource: the API server restores the stored status
before it checks the rules. In the same way, a write of the status cannot change the spec. By the
schema's default, every job has a status before its first write; without, `||` would drop the error.
"""


def _validations(*rules: Raw) -> Raw:
    return {"x-kubernetes-validations": list(rules)}


def _rule(expression: str, message: str) -> Raw:
    return {"rule": expression, "message": message}


NAME_RULES = _validations(_rule(f"self.matches('{NAME_PATTERN}')", NAME_MESSAGE))
"""The rules of `metadata.name`."""
FIXED_VALUE_RULES = _validations(_rule("self == oldSelf", "cannot change after creation"))
"""The rules of a field that always has a value and never changes."""
RESTART_POLICY_RULES = _validations(_rule("self != 'Always'", RESTART_POLICY_MESSAGE))
"""The rules of a template's restartPolicy."""
FAILURE_RULE_RULES = _validations(
    _rule("has(self.onExitCodes) != has(self.onPodConditions)", FAILURE_RULE_MESSAGE)
)
"""The rules that each rule of podFailurePolicy must satisfy."""
EXIT_CODE_RULES = _validations(
    _rule("self.operator != 'In' || !(0 in self.values)", EXIT_CODE_MESSAGE)
)
"""The rules of onExitCodes."""


def job_rules(pod_fields: Raw) -> Raw:
    """Rules over the whole object: the length of its name, one scheduler for all roles, and fields
    that can change only while the job is suspended and has no pods.

    The API server also checks every rule when a status is written, and reading a field is
    expensive, because the schema has many fields. So each rule first tests a condition that decides
    most writes. `pod_fields` are the fields of a template's pod spec.
    """
    return _validations(
        *(_child_name_rule(role) for role in Role),
        *(_template_rule(role, pod_fields) for role in Role),
        *(_replicas_rule(role) for role in (Role.PS, Role.HETER)),
        _worker_replicas_rule(),
        _rule(
            f"{_same('self.spec', 'oldSelf.spec', 'schedulingPolicy')} || {_HELD}",
            "spec.schedulingPolicy may change only while the job is suspended and has no pods",
        ),
        *(_scheduler_rule(*pair) for pair in combinations(Role, 2)),
    )


def spec_rules() -> Raw:
    """Rules over `spec`: fields that depend on each other, and fields that never change."""
    return _validations(
        _rule(
            "!has(self.elastic) || self.elastic == 0 || (!has(self.ps) && !has(self.heter))",
            ELASTIC_ROLES_MESSAGE,
        ),
        _rule(
            "!has(self.elastic) || self.elastic == 0 || !has(self.stallPolicy) || "
            "!has(self.stallPolicy.of) || self.stallPolicy.of == 'Output'",
            ELASTIC_STALL_MESSAGE,
        ),
        _rule(f"{_sum('limits')} <= {MAX_REPLICAS}", TOTAL_MESSAGE),
        _rule(
            f"!has(self.podFailurePolicy) || ({' && '.join(map(_never_restarts, Role))})",
            FAILURE_POLICY_MESSAGE,
        ),
        _rule(
            "!has(self.cleanPolicy) || !has(self.cleanPodPolicy) || "
            "self.cleanPolicy == self.cleanPodPolicy",
            CLEAN_POLICY_MESSAGE,
        ),
        _rule(
            "!has(self.schedulingPolicy) || !has(self.schedulingPolicy.minAvailable) || "
            f"self.schedulingPolicy.minAvailable <= {_sum('replicas')}",
            MIN_AVAILABLE_MESSAGE,
        ),
        *(
            _rule(_same("self", "oldSelf", name), f"spec.{name} cannot change after creation")
            for name in ("elastic", "podFailurePolicy", "startingDeadlineSeconds", "managedBy")
        ),
        *(
            _rule(
                f"has(self.{role}) == has(oldSelf.{role})",
                f"spec.{role} cannot be added or removed",
            )
            for role in (Role.PS, Role.HETER)
        ),
    )


def role_rules() -> Raw:
    """Rules over one role: its replicas are within its bounds, which never change."""
    return _validations(
        _rule("!has(self.requests) || self.requests <= self.replicas", REQUESTS_MESSAGE),
        _rule("!has(self.limits) || self.limits >= self.replicas", LIMITS_MESSAGE),
        *(
            _rule(_same("self", "oldSelf", name), f"{name} cannot change after creation")
            for name in ("requests", "limits")
        ),
    )


def _same(new: str, old: str, name: str) -> str:
    """CEL for whether an optional field is unchanged: equal, or unset in both versions."""
    return (
        f"has({new}.{name}) == has({old}.{name}) && "
        f"(!has({new}.{name}) || {new}.{name} == {old}.{name})"
    )


def _never_restarts(role: Role) -> str:
    policy = f"self.{role}.template.spec.restartPolicy"
    return f"(!has(self.{role}) || !has({policy}) || {policy} != 'OnFailure')"


def _scheduler_rule(one: Role, other: Role) -> Raw:
    """The rule is checked only while the job has no status, because schedulerName never changes."""
    roles = (f"self.spec.{one}", f"self.spec.{other}")
    first, second = (f"{role}.template.spec.schedulerName" for role in roles)
    return _rule(
        f"has(self.status) || !has({roles[0]}) || !has({roles[1]}) || "
        f"!has({first}) || !has({second}) || {first} == {second}",
        SCHEDULER_MESSAGE,
    )


def _sum(bound: str) -> str:
    """CEL for the sum of `bound`, replicas or limits, over all roles; unset limits are replicas."""
    terms = []
    for role in Role:
        most = f"self.{role}.replicas"
        if bound == "limits":
            most = f"(has(self.{role}.limits) ? self.{role}.limits : {most})"
        terms.append(f"(has(self.{role}) ? {most} : 0)")
    return " + ".join(terms)


def _child_name_rule(role: Role) -> Raw:
    spec = f"self.spec.{role}"
    most = f"(has({spec}.limits) ? {spec}.limits : {spec}.replicas)"
    length = f"size(self.metadata.name) + size(string({most} - 1)) + {len(f'-{role}-')}"
    short = MAX_CHILD_NAME - len(f"-{role}-{MAX_REPLICAS - 1}")
    return _rule(
        f"size(self.metadata.name) <= {short} || !has({spec}) || {length} <= {MAX_CHILD_NAME}",
        CHILD_NAME_MESSAGE,
    )


def _replicas_rule(role: Role) -> Raw:
    new, old = f"self.spec.{role}", f"oldSelf.spec.{role}"
    return _rule(
        f"!has({new}) || !has({old}) || {new}.replicas == {old}.replicas || {_HELD}",
        f"spec.{role}.replicas may change only while the job is suspended and has no pods",
    )


def _template_rule(role: Role, pod_fields: Raw) -> Raw:
    """A template never changes, except for the fields that a queue controller sets while the job is
    suspended and has no pods.

    If the pod specs differ, a field that can change must differ, and all others must be equal. The
    first condition refuses a change of `overhead` alone, whose value CEL cannot read.
    """
    new, old = f"self.spec.{role}", f"oldSelf.spec.{role}"
    old_pod = f"{old}.template.spec"
    fixed = sorted(set(pod_fields) - MUTABLE_POD_FIELDS - _INVISIBLE)
    fixed_same = " && ".join(_same("pod", old_pod, name) for name in fixed)
    mutable_same = " && ".join(_same("pod", old_pod, name) for name in sorted(MUTABLE_POD_FIELDS))
    return _rule(
        f"!has({new}) || {_STATUS_WRITE} || !has({old}) || {new}.template == {old}.template || "
        f"({_HELD} && [{new}.template.spec].all(pod, pod == {old_pod} || "
        f"(!({mutable_same}) && {fixed_same})))",
        f"spec.{role}.template may change only while the job is suspended and has no pods, and "
        "then only nodeSelector, affinity, tolerations, schedulingGates and its own labels and "
        "annotations",
    )


def _worker_replicas_rule() -> Raw:
    new, old = "self.spec.worker", "oldSelf.spec.worker"
    elastic = (
        "(has(self.spec.elastic) && self.spec.elastic > 0 && "
        f"has({new}.requests) && has({new}.limits))"
    )
    return _rule(
        f"{new}.replicas == {old}.replicas || {elastic} || {_HELD}",
        "spec.worker.replicas may change only in an elastic job with worker.requests and "
        "worker.limits, or while the job is suspended and has no pods",
    )
