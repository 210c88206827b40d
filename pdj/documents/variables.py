"""Advice about variables and files that a trainer's command relies on, and that no pod gets.

Scripts that were written for other operators then run with empty values, and each pod trains alone.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from json import dumps, loads

from api.constants import Role
from api.job import pod_name
from api.objects import Raw
from pdj.documents.parts import Found, Part, Rule
from reconcile.model.plan import Observed, Settings
from reconcile.model.view import build_view
from reconcile.objects.environment import build_env, build_env_from
from reconcile.objects.rendezvous import build_variables

_FAMILIES = re.compile(
    r"(?:PADDLE|VC|TRAINER|TRAINING|POD|PET|DISTRIBUTED|MASTER)_\w+|N?NODES?_(?:RANK|NUM)|NNODES"
    "|(?:LOCAL_)?RANK|(?:LOCAL_)?WORLD_SIZE|JOB_COMPLETION_INDEX"
)
"""Names of variables that tell a program of its peers; images define others."""
_PEERS = re.compile(r"--(?:master|nnodes|ips|rank|host|nproc_per_node)[=\s]+\S*")
"""The launcher's options that name peers: an empty value there is never meant."""
_PLAIN = re.compile(r"(?<!\$)\$([A-Za-z_]\w*)")
_BRACED = re.compile(r"(?<!\$)\$\{#?([A-Za-z_]\w*)(?![\w:]*[-=+?])[^}]*\}")
"""A reference without a default of its own."""
_KUBELETS = re.compile(r"(?<!\$)\$\(([A-Z_][A-Z0-9_]*)\)")
_PYTHONS = re.compile(r"environ\[\s*[\"'](\w+)[\"']\s*\]")
_READS = (_PLAIN, _BRACED, _KUBELETS, _PYTHONS)
_QUOTED = re.compile(r"'[^'\n]*'")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_SETS = re.compile(
    r"(?:^|[\s;&|(])(?:(?:export|declare|local|readonly)\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)\+?=(?=[^\s;&|])"
    r"|\b(?:for|read(?:\s+-\w+)*)\s+([A-Za-z_]\w*)"
)
_EMPTIES = re.compile(
    r"(?:^|[\s;&|(])([A-Za-z_]\w*)=(?=$|[\s;&|])"
    r"|\benviron\.pop\(\s*[\"'](\w+)|\bdel\s+os\.environ\[\s*[\"'](\w+)"
)
_UNSETS = re.compile(r"\b(?:unset(?:\s+-v)?|export\s+-n)((?:[ \t]+[A-Za-z_]\w*)+)")
_CLEARS = re.compile(r"(?:^|[\s;&|])env\s+(?:-i|-|--ignore-environment)\s")
_ASKS = re.compile(r"-[nz]\s+\"?\$\{?\w+\}?\"?")
"""A question whether a variable is set."""
_ENV_UNSETS = re.compile(r"(?:\s|^)(?:-u[\s=]?|--unset[=\s])([A-Za-z_]\w*)")
_SOURCED = re.compile(r"(?:^|[\s;&|])(?:source|\.)\s+\S")
_VOLCANOS = re.compile(r"/etc/volcano\b[\w./-]*|\bVC_\w+")
MAX_HOST_NAME = 64
"""Linux takes no longer host name."""


def _script(part: Part) -> str:
    """The command, one argument a line, without comments."""
    text = "\n".join(part.argv).replace("\\\n", " ")
    return _COMMENT.sub("", text)


def _operators(part: Part) -> frozenset[str]:
    """The names of the variables that the operator gives the role's trainers."""
    return _given(part.role, dumps(part.spec))


@lru_cache(maxsize=64)
def _given(role: str, spec: str) -> frozenset[str]:
    metadata = {"name": "job", "namespace": "default", "uid": "0"}
    job: Raw = {"metadata": metadata, "spec": loads(spec)}
    view = build_view(Observed(job), datetime.fromtimestamp(0, UTC), Settings())
    env = build_env(view, pod_name("job", Role(role), 0), Role(role), 0)
    names = {each["name"] for each in env}
    return frozenset(names | (build_variables(view).keys() if build_env_from(view) else set()))


def _unset_variable(part: Part) -> Found:
    script = _script(part)
    listed = (name for match in _UNSETS.finditer(script) for name in match[1].split())
    emptied = (name for match in _EMPTIES.finditer(script) for name in match.groups() if name)
    taken = [*listed, *emptied, *(_ENV_UNSETS.findall(script) if "env" in part.words else ())]
    if _CLEARS.search(script):
        taken += sorted({"PADDLE_TRAINER_ID", "PADDLE_MASTER"} & _operators(part))
    for name in dict.fromkeys(taken):
        if name in _operators(part):
            message = (
                f"the command takes {name} away, by which a pod knows its place and its peers: "
                "each pod may train alone; leave it set"
            )
            yield part.program_place, message


def _unknown_variable(part: Part) -> Found:
    """Advice about references to variables that nobody sets. An unread source may set any."""
    script = _script(part)
    if part.trainer.get("envFrom") or _SOURCED.search(script):
        return
    values = "\n".join(value for value in part.env.values() if value)
    assigned = {name for match in _SETS.finditer(script) for name in match.groups() if name}
    known = _operators(part) | part.env.keys() | assigned
    peers = " ".join(_PEERS.findall(script))
    asked = [*_read(script), *_KUBELETS.findall(values)]
    judged = [name for name in asked if _FAMILIES.fullmatch(name) or name in _read(peers)]
    for name in dict.fromkeys(judged):
        if name not in known:
            message = (
                f"no pod gets the variable {name}, so it is empty: each pod may train alone; the "
                "operator sets PADDLE_TRAINER_ENDPOINTS, PADDLE_TRAINER_ID and others"
            )
            yield part.program_place, message


def _read(script: str) -> list[str]:
    """The variables that a script reads, without those that a quote keeps from the shell."""
    bare = _ASKS.sub(" ", _QUOTED.sub(" ", script))
    found = [name for pattern in (_PLAIN, _BRACED) for name in pattern.findall(bare)]
    return found + [name for pattern in (_KUBELETS, _PYTHONS) for name in pattern.findall(script)]


def _volcano(part: Part) -> Found:
    texts = (_script(part), *(value for value in part.env.values() if value))
    found = dict.fromkeys(match for text in texts for match in _VOLCANOS.findall(text))
    for name in (each for each in found if each not in part.env):
        message = (
            f"{name} is made by the plugins of Volcano's Jobs, which a PaddleJob lacks: use "
            "PADDLE_TRAINERS, PADDLE_TRAINER_ENDPOINTS and PADDLE_TRAINER_ID"
        )
        yield part.program_place, message


RULES: dict[str, Rule] = {
    "unset-variable": _unset_variable,
    "unknown-variable": _unknown_variable,
    "volcano": _volcano,
}
