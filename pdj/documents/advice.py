"""Advice about PaddleJobs that would be accepted: each rule has a name, by which it is silenced."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from api.constants import PORTS_PER_POD, TRAINER_CONTAINER, Role
from api.objects import Raw
from api.trainer import PORT_VARIABLE, trainer_name
from pdj.documents.reader import Document, Place
from reconcile.build.environment import POD_VARIABLES
from reconcile.build.launcher import count_processes
from reconcile.build.rendezvous import CONFIG_MAP_VARIABLES

ACCELERATORS = ("nvidia.com/gpu", "amd.com/gpu", "huawei.com/Ascend910", "kunlunxin.com/xpu")
OWNED_VARIABLES = (POD_VARIABLES | CONFIG_MAP_VARIABLES) - {PORT_VARIABLE}
SHARED_MEMORY = "/dev/shm"


@dataclass(frozen=True, slots=True)
class Advice:
    """What would better be otherwise, and the line."""

    line: int
    rule: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class _Part:
    """One role's template, and where it stands."""

    role: str
    place: Place
    pod: Raw
    spec: Raw

    @property
    def containers(self) -> list[Raw]:
        return list(self.pod.get("containers") or ())

    @property
    def trainer(self) -> Raw:
        name = trainer_name(self.pod)
        return next(each for each in self.containers if each["name"] == name)

    @property
    def trainer_place(self) -> Place:
        return (*self.place, "containers", self.containers.index(self.trainer))


_Found = Iterator[tuple[Place, str]]
_Rule = Callable[[_Part], _Found]


def find_advice(document: Document, silenced: frozenset[str] = frozenset()) -> list[Advice]:
    """Advice about a job without errors, in order of its lines."""
    found = []
    spec = document.value["spec"]
    for role in Role:
        if not spec.get(role):
            continue
        place: Place = ("spec", str(role), "template", "spec")
        part = _Part(str(role), place, spec[role]["template"]["spec"], spec)
        for name, rule in RULES.items():
            if name not in silenced:
                found += [_advice(document, name, *each) for each in rule(part)]
    if "duplicate-key" not in silenced:
        for line, key in document.doubled:
            found.append(Advice(line, "duplicate-key", key, "stands twice; the last one counts"))
    return sorted(set(found), key=lambda advice: (advice.line, advice.rule))


def _advice(document: Document, rule: str, place: Place, message: str) -> Advice:
    from pdj.documents.checks import path_of

    return Advice(document.line_of(place), rule, path_of(place), message)


def _no_resources(part: _Part) -> _Found:
    resources = part.trainer.get("resources") or {}
    if not resources.get("requests") and not resources.get("limits"):
        message = (
            "the trainer asks for no resources: it may land on a full node and be evicted first"
        )
        yield part.trainer_place, message


def _image_tag(part: _Part) -> _Found:
    for at, container in enumerate(part.containers):
        image = str(container.get("image") or "")
        tag = image.rpartition("/")[2].partition(":")[2]
        if image and "@" not in image and tag in ("", "latest"):
            place = (*part.place, "containers", at, "image")
            yield place, f"{image!r} names no fixed version: a restart may run another program"


def _no_checkpoint(part: _Part) -> _Found:
    limit = part.spec.get("backoffLimit")
    kept = ("persistentVolumeClaim", "nfs", "hostPath", "cephfs", "csi", "glusterfs", "ephemeral")
    volumes = part.pod.get("volumes") or ()
    if part.role != Role.WORKER or not limit or any(set(kept) & each.keys() for each in volumes):
        return
    message = "backoffLimit restarts the job, but no volume keeps a checkpoint: each begins anew"
    yield ("spec", "backoffLimit"), message


def _shared_memory(part: _Part) -> _Found:
    resources = part.trainer.get("resources") or {}
    asked = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    mounts = [each.get("mountPath") for each in part.trainer.get("volumeMounts") or ()]
    if set(ACCELERATORS) & asked.keys() and SHARED_MEMORY not in mounts:
        message = f"{SHARED_MEMORY} has 64 MiB only, too little for NCCL: mount a Memory emptyDir"
        yield part.trainer_place, message


def _sidecar_first(part: _Part) -> _Found:
    names = [each["name"] for each in part.containers]
    if len(names) > 1 and TRAINER_CONTAINER not in names:
        message = (
            f"{names[0]!r} counts as the trainer because it is the first of {len(names)}; name the "
            f"trainer {TRAINER_CONTAINER!r}"
        )
        yield (*part.place, "containers", 0, "name"), message


def _owned_variable(part: _Part) -> _Found:
    for at, each in enumerate(part.trainer.get("env") or ()):
        if each.get("name") in OWNED_VARIABLES:
            place = (*part.trainer_place, "env", at)
            yield place, f"the operator sets {each['name']} itself; this value is dropped"


def _no_command(part: _Part) -> _Found:
    if not part.trainer.get("image"):
        yield part.trainer_place, "the trainer has no image"


def _processes(part: _Part) -> _Found:
    others = {str(role) for role in Role if part.spec.get(role)} - {Role.WORKER}
    if others or part.spec.get("elastic") or part.spec["worker"].get("replicas", 1) == 1:
        return
    number = count_processes(part.trainer) or 0
    if number > PORTS_PER_POD:
        message = (
            f"{number} processes do not fit the {PORTS_PER_POD} ports of a pod: the launchers meet "
            "over HTTP, seconds later, and listen on random ports"
        )
        yield part.trainer_place, message


RULES: dict[str, _Rule] = {
    "no-resources": _no_resources,
    "image-tag": _image_tag,
    "no-checkpoint": _no_checkpoint,
    "shared-memory": _shared_memory,
    "sidecar-first": _sidecar_first,
    "owned-variable": _owned_variable,
    "no-image": _no_command,
    "processes": _processes,
}
NAMES = (*RULES, "duplicate-key")
