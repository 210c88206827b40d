"""The environment that the operator gives the trainer container, and the names that it owns there.

The operator's entries come before the user's, because `$(VAR)` in the user's env, args and command
then resolves. A user's entry is dropped if the operator owns the name.
"""

from api.constants import Intranet, Role
from api.objects import Raw
from api.trainer import PORT_VARIABLE
from api.training import RESUME_VARIABLE
from reconcile.model.view import View
from reconcile.objects.addresses import format_endpoint, host_of, port_of
from reconcile.objects.rendezvous import CONFIG_MAP_VARIABLES, RENDEZVOUS_VARIABLE, rendezvous_key

TRAINING_ROLES = {Role.PS: "PSERVER", Role.WORKER: "TRAINER", Role.HETER: "HETER_TRAINER"}
"""Fleet's PaddleCloudRoleMaker accepts only these words."""

POD_VARIABLES = frozenset(
    {
        *(RENDEZVOUS_VARIABLE, "POD_IP", "PADDLE_CURRENT_IP", "PADDLE_CURRENT_ENDPOINT"),
        *("PADDLE_TRAINER_ID", "PADDLE_PSERVER_ID", "TRAINING_ROLE", "PADDLE_TRAINING_ROLE"),
        *("STAGE_ID", "STAGE_NUM", "PADDLE_STAGE_TRAINERS_NUM"),
        "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST",
        "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST",
    }
)
ELASTIC_VARIABLES = frozenset(
    {
        *("PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_JOB_ID", "PADDLE_RANK"),
        *("PADDLE_ELASTIC_LEVEL", "PADDLE_ELASTIC_TIMEOUT", "PADDLE_MAX_RESTART"),
    }
)
LETTERS_OF_THE_SCHEME = frozenset("etcd")
ELASTIC_MAX_RESTART = 1_000_000
"""How often a launcher can form a new group. By default, it gives up after 3 times."""
HETER_STAGES = 2
"""Stage 1 runs on the workers, stage 2 on the heter trainers."""

_UNBUFFERED: Raw = {"name": "PYTHONUNBUFFERED", "value": "1"}
"""Without this variable, a trainer's lines reach the launcher's log in blocks of 8 KB, and the last
lines before a kill are lost. A template's own entry wins.
"""


def owned_variables(view: View) -> frozenset[str]:
    """Names that a template cannot set in this job."""
    owned = POD_VARIABLES | CONFIG_MAP_VARIABLES
    if view.job.status.resume_step:
        owned |= {RESUME_VARIABLE}
    if view.job.spec.is_elastic:
        owned |= ELASTIC_VARIABLES
    # A template can set the port, unless each pod has ports of its own.
    return owned if view.host_roles else owned - {PORT_VARIABLE}


def build_env(view: View, name: str, role: Role, index: int) -> list[Raw]:
    """The operator's entries for one pod, ordered so that `$(VAR)` resolves."""
    step = view.job.status.resume_step
    resume = [_literal(RESUME_VARIABLE, str(step))] if step else []
    if view.job.spec.is_elastic:
        return _elastic_env(view, name) + resume
    source = _from_config_map(view.config_map_name, rendezvous_key(view.job))
    env = [
        {"name": RENDEZVOUS_VARIABLE, **source},
        *_address_env(view, name),
        _literal("TRAINING_ROLE", TRAINING_ROLES[role]),
        _literal("PADDLE_TRAINING_ROLE", TRAINING_ROLES[role]),
        _literal("PADDLE_PSERVER_ID" if role is Role.PS else "PADDLE_TRAINER_ID", str(index)),
    ]
    if view.job.spec.has_workers_only:
        env.append(_literal("RANK", str(index)))
    if Role.HETER in view.job.spec.roles:
        env += _heter_env(view, role)
    return [*env, _UNBUFFERED, *resume]


def build_env_from(view: View) -> list[Raw]:
    """The reference to the attempt's ConfigMap. The container does not start before that exists."""
    if view.job.spec.is_elastic:
        return []
    return [{"configMapRef": {"name": view.config_map_name}}]


def merge_env(view: View, own: list[Raw], template: list[Raw]) -> list[Raw]:
    """Our entries, then the template's. If both set a name, ours wins only if we own the name."""
    owned = owned_variables(view)
    kept = [entry for entry in template if entry.get("name") not in owned]
    named = {entry.get("name") for entry in kept}
    return [*(entry for entry in own if entry["name"] not in named), *kept]


def _address_env(view: View, name: str) -> list[Raw]:
    port = port_of(view, name)
    env = [
        _pod_ip(view, name),
        _literal("PADDLE_CURRENT_IP", "$(POD_IP)"),
        _literal("PADDLE_CURRENT_ENDPOINT", format_endpoint("$(POD_IP)", port)),
    ]
    if view.wanted[name][0] in view.host_roles:
        env.append(_literal(PORT_VARIABLE, str(port)))
    return env


def _pod_ip(view: View, name: str) -> Raw:
    if view.job.spec.intranet is Intranet.SERVICE:
        return _literal("POD_IP", host_of(view, name))
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    return {"name": "POD_IP", "valueFrom": source}


def _heter_env(view: View, role: Role) -> list[Raw]:
    spec = view.job.spec
    counts = [spec.roles[r].replicas for r in (Role.WORKER, Role.HETER) if r in spec.roles]
    trainers = _from_config_map(view.config_map_name, "PADDLE_TRAINER_ENDPOINTS")
    heters = _from_config_map(view.config_map_name, "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST")
    following = {Role.WORKER: heters}.get(role, {"value": ""})
    previous = {Role.HETER: trainers}.get(role, {"value": ""})
    return [
        {"name": "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", **following},
        {"name": "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST", **previous},
        _literal("STAGE_ID", str(HETER_STAGES if role is Role.HETER else 1)),
        _literal("STAGE_NUM", str(HETER_STAGES)),
        _literal("PADDLE_STAGE_TRAINERS_NUM", str(counts)),
        _literal("HETER_DEVICE_TYPE", _device_type(view, role)),
    ]


def _device_type(view: View, role: Role) -> str:
    containers = view.job.spec.roles[role].pod_spec.get("containers") or ()
    limits = ((each.get("resources") or {}).get("limits") or {} for each in containers)
    return "gpu" if any("gpu" in name for limit in limits for name in limit) else "cpu"


def _elastic_env(view: View, name: str) -> list[Raw]:
    worker = view.job.spec.roles[Role.WORKER]
    return [
        _pod_ip(view, name),
        _literal("PADDLE_CURRENT_IP", "$(POD_IP)"),
        _literal("PADDLE_JOB_NAME", view.job.name),
        _literal("PADDLE_MASTER", _master(view)),
        _literal("PADDLE_NNODES", f"{worker.least}:{worker.most}"),
        _literal("PADDLE_JOB_ID", f"{view.job.uid}-{view.attempt:06d}"),
        _literal("PADDLE_ELASTIC_LEVEL", str(min(view.job.spec.elastic, 1))),
        _literal("PADDLE_ELASTIC_TIMEOUT", str(view.settings.elastic_timeout_seconds)),
        _literal("PADDLE_MAX_RESTART", str(ELASTIC_MAX_RESTART)),
        _UNBUFFERED,
    ]


def _master(view: View) -> str:
    """The etcd's URL, in a form that PaddlePaddle's launcher parses correctly.

    The default is the etcd of manifests/elastic in the job's namespace.

    The launcher strips every letter of `etcd://` from the front of the URL, so it would also strip
    a host named `etcd`. So we capitalise a first letter that it would strip; DNS ignores case.
    """
    server = view.settings.elastic_server or f"paddle-elastic-etcd.{view.job.namespace}:2379"
    if server[:1] in LETTERS_OF_THE_SCHEME:
        server = server[:1].upper() + server[1:]
    return f"etcd://{server}"


def _literal(name: str, value: str) -> Raw:
    return {"name": name, "value": value}


def _from_config_map(config_map: str, key: str) -> Raw:
    return {"valueFrom": {"configMapKeyRef": {"name": config_map, "key": key}}}
