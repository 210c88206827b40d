"""PaddlePaddle's launcher as the command of a trainer.

With PADDLE_IPS and PADDLE_START_PORT it knows every endpoint and contacts nobody (2.6.2 and 3.3.1:
`_build_pod_with_args` in launch/controllers/collective.py). With PADDLE_TRAINER_ENDPOINTS it first
meets its peers over HTTP, which takes seconds. But a program that runs without the launcher needs
PADDLE_TRAINER_ENDPOINTS, or it trains alone. So any command that we cannot parse counts as such a
program.
"""

import re
import shlex

from api.objects import Raw

HARMLESS_OPTIONS = frozenset(
    {
        *("--devices", "--gpus", "--npus", "--xpus", "--nproc_per_node"),
        *("--log_dir", "--log_level", "--log_overwrite", "--job_id", "--max_restart"),
    }
)
"""Options that do not name peers; each takes a value."""
PEER_OPTIONS = re.compile(r"--(?:master|ips|nnodes|rank|legacy|auto_\w+)(?:=|$)")
MAX_READ_CHARACTERS = 8192
"""The longest command that is parsed: the time grows with the square of a word's length."""
PYTHON = re.compile(r"\bpython[\d.]*(?:\s|$)")
OTHERS = re.compile(rf"{PYTHON.pattern}|\.sh\b|(?:^|\s)#")
"""Words that can run a program which needs the endpoints, or can comment out the launcher."""
SIZES = {"PADDLE_NPROC_PER_NODE": "--nproc_per_node", "PADDLE_DEVICES": "--devices"}
"""Variables with which a template sets how many processes the launcher starts."""
READ_VARIABLES = re.compile(r"\b(?:PADDLE_\w+|POD_IP|DISTRIBUTED_TRAINER_ENDPOINTS)\b")
HARMLESS_VARIABLES = frozenset(
    {
        *("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_PORT", "PADDLE_JOB_NAME"),
        *("PADDLE_JOB_ID", "PADDLE_LOG_DIR", "PADDLE_LOG_LEVEL", "PADDLE_LOG_OVERWRITE"),
        *("PADDLE_RENDEZVOUS", "PADDLE_XCCL_BACKEND", "PADDLE_DISTRI_BACKEND"),
    }
)
"""The READ_VARIABLES that a template can name without naming its peers."""


def count_processes(trainer: Raw) -> int | None:
    """How many processes the launcher starts in this container.

    None if that is unknown, as when the container runs other programs, too, or when the template
    perhaps names the launcher's peers.
    """
    env = {each["name"]: each.get("value") for each in trainer.get("env") or ()}
    sizes = {SIZES[name]: env.pop(name) for name in tuple(env) if name in SIZES}
    command = [*(trainer.get("command") or ()), *(trainer.get("args") or ())]
    if sum(map(len, command)) > MAX_READ_CHARACTERS:
        return None
    named = READ_VARIABLES.findall(" ".join([*command, *(f"{k} {v}" for k, v in env.items())]))
    options = _options(_words(command))
    if trainer.get("envFrom") or options is None or set(named) - HARMLESS_VARIABLES:
        return None
    options |= {name: value or "$" for name, value in sizes.items()}
    if number := options.get("--nproc_per_node"):
        return int(number) if re.fullmatch("[0-9]{1,4}", number) else None
    devices = options.get("--devices", "")
    return devices.count(",") + 1 if _is_literal(devices) else None


def _words(command: list[str]) -> list[str]:
    """The words of the command, including those of a shell script."""
    if any(map(_is_launcher, command)):
        return command
    try:
        return [word for text in command for word in shlex.split(text.replace("\\\n", " "))]
    except ValueError:
        return []


def _options(words: list[str]) -> dict[str, str] | None:
    """The launcher's options; None if other programs run too, or an option is not a known one."""
    launchers = [at for at, word in enumerate(words) if _is_launcher(word)]
    if len(launchers) != 1 or any(map(PEER_OPTIONS.match, words)):
        return None
    if any(map(OTHERS.search, _others(words, launchers[0]))):
        return None
    options: dict[str, str] = {}
    rest = iter(words[launchers[0] + 1 :])
    for word in rest:
        if not word.startswith("-"):
            return options if _is_literal(word) and word.endswith(".py") else None
        name, is_joined, value = word.partition("=")
        value = value if is_joined else next(rest, "")
        if name not in HARMLESS_OPTIONS or not _is_literal(value):
            return None
        options["--devices" if name.endswith("pus") else name] = value
    return None


def _others(words: list[str], launcher: int) -> list[str]:
    """The words without the launcher, the Python that runs it, and options between the two."""
    before = words[:launcher]
    while before and before[-1].startswith("-"):
        before.pop()
    if before and PYTHON.search(before[-1]):
        before.pop()
    return [*before, *words[launcher + 1 :]]


def _is_launcher(word: str) -> bool:
    return word == "paddle.distributed.launch" or word.rpartition("/")[2] == "fleetrun"


def _is_literal(word: str) -> bool:
    """Whether neither a shell nor the kubelet expands the word."""
    return not set("$`*?;&|<>(){}") & set(word)
