"""Converts Kubeflow's, Volcano's and plain Jobs to PaddleJobs.

Every field that is not converted exactly is reported: a `dropped` one has no counterpart here, a
`guessed` one perhaps means something else. A field that was never read is reported as dropped, too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from api.constants import API_VERSION, KIND, LABEL_INDEX, TRAINER_CONTAINER, Role
from api.objects import Raw
from api.trainer import trainer_name
from pdj.documents.advice import OWNED_VARIABLES
from pdj.errors import Usage

KUBEFLOW, VOLCANO, PLAIN = (
    "kubeflow.org/v1/PaddleJob",
    "batch.volcano.sh/v1alpha1/Job",
    "batch/v1/Job",
)
PLAIN_BACKOFF_LIMIT = 6
JOB_NAME_LABEL = "job-name"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
VOLCANO_SCHEDULER = "volcano"
VOLCANO_MAX_RETRY = 3
_SERVERS = frozenset({"ps", "pserver", "pservers", "server", "servers", "parameter-server"})
_WORKERS = frozenset({"worker", "workers", "trainer", "trainers"})
_CLEAN = {"All": "Always", "None": "Never"}
_KEPT_BY_US = frozenset({("PodFailed", "RestartJob"), ("PodEvicted", "RestartJob")})


@dataclass(slots=True)
class Notes:
    """The fields that were not converted exactly."""

    lines: list[str] = field(default_factory=list)

    def dropped(self, path: str, why: str) -> None:
        """Note a field that has no counterpart."""
        self.lines.append(f"dropped {path}: {why}")

    def guessed(self, path: str, how: str) -> None:
        """Note a field that was converted to one that perhaps means something else."""
        self.lines.append(f"guessed {path}: {how}")


class _Fields:
    """The fields of an object. `take` removes a field; `end` notes as dropped what is left."""

    def __init__(self, value: Any, path: str, notes: Notes) -> None:
        if value is not None and not isinstance(value, dict):
            raise Usage(f"{path} is not an object")
        self._left: Raw = dict(value or {})
        self._path = path
        self._notes = notes

    def take(self, name: str, default: Any = None) -> Any:
        """Remove a field and return its value; `default` if the field is missing or null."""
        value = self._left.pop(name, None)
        return default if value is None else value

    def inside(self, name: str) -> "_Fields":
        """The fields of the object in this field. Raises Usage if it is not an object."""
        return _Fields(self.take(name), self.path(name), self._notes)

    def path(self, name: str) -> str:
        """The path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def end(self) -> None:
        """Note as dropped the fields that were not taken and are not empty."""
        for name, value in self._left.items():
            if value not in (None, {}, []):
                self._notes.dropped(self.path(name), "a PaddleJob has no such field")


def convert(value: Raw) -> tuple[Raw, list[str]]:
    """The PaddleJob and the notes about it. Raises Usage for a kind that cannot be converted."""
    kind = f"{value.get('apiVersion')}/{value.get('kind')}"
    converters: dict[str, Callable[[_Fields, Notes, str], Raw]] = {
        KUBEFLOW: _kubeflow,
        VOLCANO: _volcano,
        PLAIN: _plain,
    }
    if kind not in converters:
        what = "an object without a kind" if kind == "None/None" else kind
        raise Usage(f"{what} cannot be converted, only {', '.join(converters)}")
    notes = Notes()
    whole = _Fields(value, "", notes)
    for name in ("apiVersion", "kind", "status"):
        whole.take(name)
    metadata = _metadata(whole.inside("metadata"))
    fields = whole.inside("spec")
    spec = converters[kind](fields, notes, str(metadata.get("name") or ""))
    fields.end()
    whole.end()
    spec = {name: each for name, each in spec.items() if each is not None}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": spec,
    }, notes.lines


def _metadata(fields: _Fields) -> Raw:
    names = ("name", "generateName", "namespace", "labels", "annotations")
    kept = {name: fields.take(name) for name in names}
    for name in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
        fields.take(name)
    fields.end()
    return {name: value for name, value in kept.items() if value is not None}


def _plain(fields: _Fields, notes: Notes, name: str) -> Raw:
    workers = int(fields.take("parallelism", 1))
    completions = fields.take("completions")
    if completions not in (None, workers):
        notes.guessed("spec.completions", f"{workers} workers, as parallelism says")
    limit = fields.take("backoffLimit")
    if limit is None:
        notes.guessed("spec.backoffLimit", f"{PLAIN_BACKOFF_LIMIT}, the default of batch/v1")
    template = _template(fields.take("template"), "spec.template", notes)
    _like_the_job_controller(template, name, fields.take("completionMode"), notes)
    return {
        "backoffLimit": PLAIN_BACKOFF_LIMIT if limit is None else limit,
        **_same(fields, "activeDeadlineSeconds", "ttlSecondsAfterFinished", "suspend"),
        **_same(fields, "podFailurePolicy"),
        "worker": {"replicas": workers, "template": template},
    }


def _like_the_job_controller(template: Raw, name: str, mode: Any, notes: Notes) -> None:
    """Give pods what the Job controller gives them: a label to find each other, and their index."""
    if name:
        metadata = template.setdefault("metadata", {})
        metadata["labels"] = {JOB_NAME_LABEL: name, **(metadata.get("labels") or {})}
        path = f"spec.template.metadata.labels[{JOB_NAME_LABEL}]"
        notes.guessed(path, "pods keep the label by which a Job's pods find each other")
    if mode == "Indexed":
        place = {"fieldRef": {"fieldPath": f"metadata.labels['{LABEL_INDEX}']"}}
        for container in template["spec"]["containers"]:
            index = {"name": INDEX_VARIABLE, "valueFrom": place}
            container["env"] = [*(container.get("env") or ()), index]
        notes.guessed("spec.completionMode", f"{INDEX_VARIABLE} is the pod's index in its role")


def _same(fields: _Fields, *names: str) -> Raw:
    """Copy fields that mean the same in a PaddleJob."""
    return {name: fields.take(name) for name in names}


def _volcano(fields: _Fields, notes: Notes, _name: str) -> Raw:
    retries = fields.take("maxRetry", VOLCANO_MAX_RETRY)
    policies = _policies(fields.take("policies", ()), "spec.policies", notes)
    if fields.take("schedulerName", VOLCANO_SCHEDULER) != VOLCANO_SCHEDULER:
        notes.dropped("spec.schedulerName", "write it into the templates")
    for name in fields.take("plugins", {}):
        notes.dropped(
            f"spec.plugins.{name}", "the operator gives the pods their peers' addresses itself"
        )
    policy = {
        "minAvailable": fields.take("minAvailable"),
        "queue": fields.take("queue"),
        "priorityClass": fields.take("priorityClassName"),
    }
    roles: Raw = {}
    for at, task in enumerate(fields.take("tasks", ())):
        role, made = _task(task, f"spec.tasks[{at}]", notes)
        if role in roles:
            raise Usage(f"spec.tasks[{at}] would be a second {role} role")
        roles[role] = made
    return {
        "backoffLimit": retries if ("PodFailed", "RestartJob") in policies else None,
        **_same(fields, "ttlSecondsAfterFinished"),
        "schedulingPolicy": {name: value for name, value in policy.items() if value is not None},
        **roles,
    }


def _task(value: Raw, path: str, notes: Notes) -> tuple[str, Raw]:
    fields = _Fields(value, path, notes)
    name = str(fields.take("name", ""))
    role = Role.PS if name.lower() in _SERVERS else Role.WORKER
    if name.lower() not in _SERVERS | _WORKERS:
        notes.guessed(f"{path}.name", f"the task {name!r} is treated as workers")
    _policies(fields.take("policies", ()), f"{path}.policies", notes)
    template = _template(fields.take("template"), f"{path}.template", notes)
    made = {"replicas": int(fields.take("replicas", 1)), "template": template}
    fields.end()
    return str(role), made


def _policies(policies: Any, path: str, notes: Notes) -> set[tuple[str, str]]:
    """(event, action) of each policy that the operator follows anyway. Notes the others."""
    found = set()
    for at, each in enumerate(policies):
        for event in each.get("events") or [each.get("event")]:
            pair = (str(event), str(each.get("action")))
            if pair in _KEPT_BY_US or pair == ("TaskCompleted", "CompleteJob"):
                found.add(pair)
            else:
                why = f"{pair[0]}: {pair[1]} is not what the operator does"
                notes.dropped(f"{path}[{at}]", why)
    return found


def _kubeflow(fields: _Fields, notes: Notes, _name: str) -> Raw:
    policy = fields.inside("runPolicy")
    gang = policy.inside("schedulingPolicy")
    clean = policy.take("cleanPodPolicy")
    made = {
        **_same(
            policy, "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "suspend"
        ),
        "cleanPodPolicy": _CLEAN.get(clean) if clean else None,
        "schedulingPolicy": _same(gang, "minAvailable", "queue", "priorityClass", "minResources"),
    }
    kept = {k: v for k, v in made["schedulingPolicy"].items() if v is not None}
    made["schedulingPolicy"] = kept or None
    gang.end()
    policy.end()
    made["worker"] = _kubeflow_workers(fields.inside("paddleReplicaSpecs"), notes)
    elastic = fields.inside("elasticPolicy")
    least, most = elastic.take("minReplicas"), elastic.take("maxReplicas")
    if least is not None or most is not None:
        made["elastic"] = 1
        made["worker"] |= {"requests": least, "limits": most}
        made["worker"] = {k: v for k, v in made["worker"].items() if v is not None}
        notes.guessed("spec.elasticPolicy", "elastic: 1; the program needs PaddlePaddle's launcher")
    elastic.end()
    return made


def _kubeflow_workers(roles: _Fields, notes: Notes) -> Raw:
    """The worker role. Kubeflow's Master becomes one more worker, with the template of the Workers.

    The Master's own template is used only if there are no Workers.
    """
    path = "spec.paddleReplicaSpecs"
    replicas, template = 0, None
    for name in ("Worker", "Master"):
        role = roles.inside(name)
        count, wanted = role.take("replicas", 1), role.take("template")
        restart = role.take("restartPolicy")
        role.end()
        if wanted is None:
            continue
        replicas += int(count)
        found = _template(wanted, f"{path}.{name}.template", notes, restart)
        if template is not None:
            same = "" if found == template else "; its own template differs, and is dropped"
            notes.guessed(f"{path}.Master", f"one worker more{same}")
        template = template or found
    roles.end()
    if template is None:
        raise Usage(f"{path} has neither Worker nor Master")
    return {"replicas": replicas, "template": template}


def _template(value: Any, path: str, notes: Notes, restart: str | None = None) -> Raw:
    if not isinstance(value, dict) or not isinstance(value.get("spec"), dict):
        raise Usage(f"{path} is not a pod template")
    pod = {**value["spec"]}
    policy = restart or pod.get("restartPolicy")
    if policy in ("Always", "ExitCode"):
        notes.guessed(f"{path}.spec.restartPolicy", f"{policy} has become OnFailure")
        policy = "OnFailure"
    pod |= {"restartPolicy": policy} if policy else {}
    scheduler = pod.pop("schedulerName", None)
    if scheduler == VOLCANO_SCHEDULER:
        pod["schedulerName"] = scheduler
    elif scheduler not in (None, "default-scheduler"):
        notes.dropped(f"{path}.spec.schedulerName", "write it into the template again if needed")
    pod["containers"] = _containers(pod, path, notes)
    fields = _Fields(value.get("metadata"), f"{path}.metadata", notes)
    metadata = {name: each for name in _TEMPLATE if (each := fields.take(name)) is not None}
    for name in _UNHEARD:
        fields.take(name)
    fields.end()
    return {**({"metadata": metadata} if metadata else {}), "spec": pod}


_TEMPLATE = ("labels", "annotations", "finalizers")
_UNHEARD = ("name", "namespace", "creationTimestamp")
"""Fields of a template's metadata that no controller copies to its pods."""


def _containers(pod: Raw, path: str, notes: Notes) -> list[Raw]:
    """The containers without the variables that the operator sets itself."""
    containers = list(pod.get("containers") or ())
    if len(containers) > 1 and trainer_name(pod) != TRAINER_CONTAINER:
        notes.guessed(f"{path}.spec.containers", f"{containers[0].get('name')!r} is the trainer")
    kept = []
    for at, container in enumerate(containers):
        owned = [e["name"] for e in container.get("env") or () if e.get("name") in OWNED_VARIABLES]
        for name in owned:
            notes.dropped(f"{path}.spec.containers[{at}].env[{name}]", "the operator sets it")
        env = [each for each in container.get("env") or () if each.get("name") not in owned]
        kept.append({**container, "env": env} if owned else container)
    return kept
