"""Advice about valid PaddleJobs: each rule has a name, with which it can be silenced."""

from collections.abc import Iterator
from dataclasses import dataclass

from api.constants import TRAINER_CONTAINER, Intranet, Role
from api.job import pod_name
from api.spec import parse_spec
from api.trainer import ACCELERATORS, PORT_VARIABLE, requests_of
from pdj.documents import launch, variables
from pdj.documents.checks import path_of, with_name
from pdj.documents.parts import Found, Part, Rule
from pdj.documents.reader import Document, Place
from pdj.documents.variables import MAX_HOST_NAME
from reconcile.objects.environment import POD_VARIABLES
from reconcile.objects.rendezvous import CONFIG_MAP_VARIABLES

OWNED_VARIABLES = (POD_VARIABLES | CONFIG_MAP_VARIABLES) - {PORT_VARIABLE}
SHARED_MEMORY = "/dev/shm"
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
MIG = "/mig-"
"""In the names of NVIDIA's slices of GPUs."""
INTERFACE_SUFFIX = "_SOCKET_IFNAME"
"""The end of the name of a variable that chooses the interface of NCCL, HCCL or BKCL. RCCL reads
NCCL's variable.
"""


@dataclass(frozen=True, slots=True)
class Advice:
    """A recommended change, and its line."""

    line: int
    rule: str
    path: str
    message: str


def find_advice(
    document: Document,
    silenced: frozenset[str] = frozenset(),
    accelerators: tuple[str, ...] = ACCELERATORS,
) -> list[Advice]:
    """Advice, sorted by line, about a job in which `find_errors` finds nothing."""
    found = []
    spec = document.value["spec"]
    for role in Role:
        if not spec.get(role):
            continue
        place: Place = ("spec", str(role), "template", "spec")
        part = Part(str(role), place, spec[role]["template"]["spec"], spec, accelerators)
        for name, rule in RULES.items():
            if name not in silenced:
                found += [_advice(document, name, *each) for each in rule(part)]
    if "duplicate-key" not in silenced:
        for line, key in document.doubled:
            found.append(Advice(line, "duplicate-key", key, "appears twice; the last one counts"))
    if "host-name" not in silenced:
        found += [_advice(document, "host-name", *each) for each in _host_names(document)]
    return sorted(set(found), key=lambda advice: (advice.line, advice.rule))


def _advice(document: Document, rule: str, place: Place, message: str) -> Advice:
    return Advice(document.line_of(place), rule, path_of(place), message)


def _no_resources(part: Part) -> Found:
    resources = part.trainer.get("resources") or {}
    if not resources.get("requests") and not resources.get("limits"):
        message = (
            "the trainer asks for no resources: it can be put on a full node, and is evicted first"
        )
        yield part.trainer_place, message


def _image_tag(part: Part) -> Found:
    for at, container in enumerate(part.containers):
        image = str(container.get("image") or "")
        tag = image.rpartition("/")[2].partition(":")[2]
        if image and "@" not in image and tag in ("", "latest"):
            place = (*part.place, "containers", at, "image")
            yield place, f"{image!r} names no fixed version: a restart may run another program"


def _image_name(part: Part) -> Found:
    for at, container in enumerate(part.containers):
        image = str(container.get("image") or "")
        registry, _, path = image.partition("@")[0].partition("/")
        if not path or not ({".", ":"} & set(registry) or registry == "localhost"):
            path = image.partition("@")[0]
        folders, slash, name = path.rpartition("/")
        repository = folders + slash + name.partition(":")[0]
        if repository != repository.lower():
            place = (*part.place, "containers", at, "image")
            yield place, f"{repository!r} has capital letters, which nodes refuse in a repository"


def _no_checkpoint(part: Part) -> Found:
    limit = part.spec.get("backoffLimit")
    kept = ("persistentVolumeClaim", "nfs", "hostPath", "cephfs", "csi", "glusterfs", "ephemeral")
    volumes = part.pod.get("volumes") or ()
    if part.role != Role.WORKER or not limit or any(set(kept) & each.keys() for each in volumes):
        return
    message = (
        "backoffLimit restarts the job, but no volume keeps a checkpoint: it starts from step 0"
    )
    yield ("spec", "backoffLimit"), message


def _shared_memory(part: Part) -> Found:
    mounts = [each.get("mountPath") for each in part.trainer.get("volumeMounts") or ()]
    if part.devices > 1 and SHARED_MEMORY not in mounts and not part.pod.get("hostIPC"):
        message = f"{SHARED_MEMORY} has 64 MiB only, too little for NCCL: mount a Memory emptyDir"
        yield part.trainer_place, message


def _proxy(part: Part) -> Found:
    """Advice if no_proxy has no address range. No advice if its value is not in the template."""
    env = {name.lower(): value for name, value in part.env.items()}
    set_ = [name for name in PROXIES if env.get(name)]
    kept = env.get("no_proxy", "")
    is_alone = sum(int((part.spec.get(role) or {}).get("replicas") or 0) for role in Role) < 2
    if not set_ or is_alone or kept is None or (not kept and part.trainer.get("envFrom")):
        return
    if not any("/" in each or each.strip() == "*" for each in kept.split(",")):
        message = f"{set_[0]} is set, but no_proxy lacks pods' addresses: peers may be unreachable"
        yield (*part.trainer_place, "env"), message


def _interface(part: Part) -> Found:
    on_host = part.role in parse_spec(part.spec).host_roles
    is_set = any(name.endswith(INTERFACE_SUFFIX) for name in part.env)
    if not (on_host and part.is_collective and part.devices) or is_set:
        return
    if not part.trainer.get("envFrom"):
        message = "on the host's network NCCL takes any interface: set NCCL_SOCKET_IFNAME"
        yield part.trainer_place, message


def _host_network(part: Part) -> Found:
    if part.spec.get("intranet") != Intranet.HOST and part.role in parse_spec(part.spec).host_roles:
        message = (
            "pods with hostNetwork get port ranges of their own, as with intranet: Host, and the "
            "workers of a collective job a node each; write intranet: Host if that is meant"
        )
        yield (*part.place, "hostNetwork"), message


def _slices(part: Part) -> Found:
    asked = {n: str(a) for n, a in requests_of(part.trainer).items() if MIG in n and str(a) != "0"}
    for name, amount in asked.items():
        if amount != "1" or part.is_collective:
            message = (
                f"{name}: a process sees one MIG device only, and NCCL does not join two of one "
                "GPU: ask for whole GPUs, or for one MIG device in a job of one worker"
            )
            yield (*part.trainer_place, "resources"), message


def _host_names(document: Document) -> Iterator[tuple[Place, str]]:
    """Names that Linux does not take: kubelets then never start the pod."""
    job = with_name(document.value)
    namespace = job["metadata"].get("namespace") or "default"
    for role, spec in parse_spec(job["spec"]).roles.items():
        pod, name = spec.pod_spec, pod_name(job["metadata"]["name"], role, spec.most - 1)
        names = {"hostnameOverride": str(pod.get("hostnameOverride") or "")}
        if pod.get("setHostnameAsFQDN"):
            names["setHostnameAsFQDN"] = f"{name}.{name}.{namespace}.svc.cluster.local"
        for field, host in names.items():
            if len(host) > MAX_HOST_NAME:
                message = (
                    f"the host name {host} has {len(host)} characters, but Linux takes "
                    f"{MAX_HOST_NAME}: the pod would never start; leave the field out"
                )
                yield ("spec", str(role), "template", "spec", field), message


def _sidecar_first(part: Part) -> Found:
    names = [each["name"] for each in part.containers]
    if len(names) > 1 and TRAINER_CONTAINER not in names:
        message = (
            f"{names[0]!r} counts as the trainer because it is the first of {len(names)} "
            f"containers; name the trainer {TRAINER_CONTAINER!r}"
        )
        yield (*part.place, "containers", 0, "name"), message


def _owned_variable(part: Part) -> Found:
    for at, each in enumerate(part.trainer.get("env") or ()):
        if each.get("name") in OWNED_VARIABLES:
            place = (*part.trainer_place, "env", at)
            yield place, f"the operator sets {each['name']} itself; this value is dropped"


def _no_command(part: Part) -> Found:
    if not part.trainer.get("image"):
        yield part.trainer_place, "the trainer has no image"


RULES: dict[str, Rule] = {
    "no-resources": _no_resources,
    "image-tag": _image_tag,
    "image-name": _image_name,
    "no-checkpoint": _no_checkpoint,
    "shared-memory": _shared_memory,
    "proxy": _proxy,
    "nccl-interface": _interface,
    "host-network": _host_network,
    "mig": _slices,
    "sidecar-first": _sidecar_first,
    "owned-variable": _owned_variable,
    "no-image": _no_command,
    **launch.RULES,
    **variables.RULES,
}
NAMES = (*RULES, "duplicate-key", "host-name")
OF_OTHERS = frozenset({*variables.RULES, "host-network", "mig", "host-name", "launcher-nodes"})
"""Rules about what works elsewhere: `convert` notes their advice, too."""
