"""Advice about how trainers are started: some train alone, wait forever, or overwrite files."""

import re
from posixpath import join

from api.constants import PORTS_PER_POD, Role
from api.objects import Raw
from pdj.documents.parts import Found, Part, Rule
from reconcile.objects.launcher import count_processes

TOOLS = ("paddleformers-cli", "erniekit")
"""Tools that ignore the peers' addresses: they start the launcher with NNODES and MASTER_ADDR."""
LAUNCHERS = ("paddle.distributed.launch", "fleetrun")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_BEFORE = re.compile(r"|[;&|\n]|-\w+|exec|then|do|\w+=.*|(?:.*/)?python[\d.]*")
"""A word after which a command or a script can name a program."""
_MEETS = re.compile(r"fleet|distributed|init_parallel_env")
_LOOPBACK = re.compile(r"(?:\w+://)?(?:127\.\d+\.\d+\.\d+|localhost)(?::\d+)?")
_NODES = re.compile(r"([0-9]{1,6})(?::([0-9]{1,6}))?")
SHARED_VOLUMES = ("persistentVolumeClaim", "nfs", "cephfs", "glusterfs")
LOG_FOLDER = "log"
"""The launcher's default for --log_dir."""


def _launcher_options(part: Part) -> dict[str, str] | None:
    """The launcher's own options, up to the program that it starts; None without a launcher."""
    pairs = enumerate(zip(("", *part.words), part.words, strict=False))
    at = next((n for n, pair in pairs if _is_launcher(*pair)), None)
    if at is None:
        return None
    found: dict[str, str] = {}
    words = iter(part.words[at + 1 :])
    for word in words:
        if not word.startswith("-"):
            break
        name, equals, value = word.partition("=")
        found[name.lstrip("-")] = value if equals else next(words, "")
    return found


def _is_launcher(before: str, word: str) -> bool:
    """Whether the word starts a launcher, and is not an argument or part of a comment."""
    module, program = LAUNCHERS
    if word == module:
        return before == "-m"
    return word.rpartition("/")[2] == program and bool(_BEFORE.fullmatch(before))


def _tool_alone(part: Part) -> Found:
    tool = next((word for word in part.words if word.endswith(TOOLS)), "")
    has_others = part.spec.get(Role.PS) or part.spec.get(Role.HETER) or part.spec.get("elastic")
    if tool and has_others and not {"NNODES", "MASTER_ADDR"} <= part.env.keys():
        message = (
            f"{tool} does not support ps, heter or elastic, so each pod trains by itself: remove "
            "these fields from the job"
        )
        yield part.program_place, message


def _no_launcher(part: Part) -> Found:
    """Advice if the code in `python -c` contacts no peers, or if one process gets many devices."""
    if not part.is_collective or not part.argv or not _PYTHON.fullmatch(part.argv[0]):
        return
    rest = part.argv[1:]
    while rest and rest[0] in ("-u", "-B"):
        rest = rest[1:]
    program = rest[1] if rest[:1] == ["-c"] and rest[1:] else ""
    if "paddle" in program and not _MEETS.search(program):
        message = f"the program contacts no peers: each of {part.replicas} workers trains alone"
        yield part.program_place, message
    elif rest[:1] and rest[0].endswith(".py") and part.devices > 1:
        message = (
            f"one process for {part.devices} accelerators: `python -m {LAUNCHERS[0]}` starts one "
            "for each"
        )
        yield part.program_place, message


def _processes(part: Part) -> Found:
    number = count_processes(part.trainer) or 0
    if part.is_collective and not part.spec.get("elastic") and number > PORTS_PER_POD:
        message = (
            f"{number} processes do not fit the {PORTS_PER_POD} ports of a pod: the launchers meet "
            "over HTTP, which takes seconds, and listen on random ports"
        )
        yield part.trainer_place, message


def _launcher_nodes(part: Part) -> Found:
    options = _launcher_options(part) or {}
    match = _NODES.fullmatch(options.get("nnodes", ""))
    if match and not int(match[1]) <= part.replicas <= int(match[2] or match[1]):
        message = f"--nnodes {match[0]}, but the job has {part.replicas} workers: leave it out"
        yield part.program_place, message
    ips = options.get("ips", "")
    if ips and "$" not in ips and len(ips.split(",")) != part.replicas:
        message = (
            f"--ips has {len(ips.split(','))} addresses, but the job has {part.replicas} workers: "
            "leave it out"
        )
        yield part.program_place, message


def _launcher_master(part: Part) -> Found:
    master = (_launcher_options(part) or {}).get("master", "")
    if part.replicas > 1 and _LOOPBACK.fullmatch(master):
        yield (
            part.program_place,
            f"--master {master} makes each pod its own master: leave it out",
        )


def _shared_log(part: Part) -> Found:
    """Advice if the launchers of all pods write workerlog.0 to one folder."""
    options = _launcher_options(part)
    if options is None or part.replicas < 2:
        return
    folder = options.get("log_dir") or part.env.get("PADDLE_LOG_DIR", LOG_FOLDER) or ""
    path = join(part.trainer.get("workingDir") or "", folder)
    is_known = path.startswith("/") and "$" not in path
    has_left = "cd" in part.words and not folder.startswith("/")
    if is_known and not has_left and _is_shared(part, path):
        message = (
            f"every pod's launcher writes to {path}/workerlog.0: give each pod its own --log_dir"
        )
        yield part.program_place, message


def _is_shared(part: Part, path: str) -> bool:
    """Whether the path is on a volume that all pods of the role share."""
    volumes = part.pod.get("volumes") or ()
    shared = {each["name"] for each in volumes if set(SHARED_VOLUMES) & each.keys()}
    mounts = [
        each
        for each in part.trainer.get("volumeMounts") or ()
        if f"{path}/".startswith(f"{str(each.get('mountPath')).rstrip('/')}/")
    ]
    nearest: Raw = max(mounts, key=lambda each: len(each["mountPath"]), default={})
    return nearest.get("name") in shared and not nearest.get("subPathExpr")


RULES: dict[str, Rule] = {
    "tool-alone": _tool_alone,
    "no-launcher": _no_launcher,
    "processes": _processes,
    "launcher-nodes": _launcher_nodes,
    "launcher-master": _launcher_master,
    "shared-log": _shared_log,
}
