"""A pod's status from the state of its containers, as a kubelet computes it. Pure."""

from collections.abc import Sequence

from localcluster.node.client import Raw
from localcluster.node.containers import Container

CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def decide_phase(inits: Sequence[Container], mains: Sequence[Container], policy: str) -> str:
    """Pending, Running, Succeeded or Failed."""
    for init in inits:
        if init.role == "init" and init.exit_code != 0:
            failed = init.exit_code is not None and not init.should_restart(policy)
            return "Failed" if failed else "Pending"
        if init.role == "sidecar" and not init.has_started_ever:
            return "Pending"
    if any(not main.has_started_ever for main in mains):
        return "Pending"
    if all(_is_over(main, policy) for main in mains):
        return "Succeeded" if all(main.exit_code == 0 for main in mains) else "Failed"
    return "Running"


def _is_over(container: Container, policy: str) -> bool:
    return container.exit_code is not None and not container.should_restart(policy)


def build_conditions(
    inits: Sequence[Container], mains: Sequence[Container], phase: str
) -> list[Raw]:
    """The kubelet's own conditions, without times."""
    uninitialized = [each.name for each in inits if not _is_initialized(each)]
    watched = [*mains, *(each for each in inits if each.role == "sidecar")]
    unready = [each.name for each in watched if not each.ready]
    if phase == "Succeeded":
        ready: Raw = {"status": "False", "reason": "PodCompleted"}
    elif phase == "Failed":
        ready = {"status": "False", "reason": "PodFailed"}
    else:
        ready = _condition("ContainersNotReady", "containers with unready status", unready)
    initialized = _condition("ContainersNotInitialized", "containers with incomplete status",
                             uninitialized)  # fmt: skip
    if phase == "Succeeded":
        initialized = {"status": "True", "reason": "PodCompleted"}
    sandbox = {"status": "False" if phase in ("Succeeded", "Failed") else "True"}
    values = (sandbox, initialized, ready, ready)
    return [{"type": kind} | value for kind, value in zip(CONDITIONS, values, strict=True)]


def _is_initialized(container: Container) -> bool:
    if container.role == "sidecar":
        return container.started or container.has_started_ever
    return container.exit_code == 0


def _condition(reason: str, message: str, names: list[str]) -> Raw:
    if not names:
        return {"status": "True"}
    listed = f"{message}: [{' '.join(names)}]"
    return {"status": "False", "reason": reason, "message": listed}


def keep_times(conditions: list[Raw], before: Sequence[Raw], now: str) -> list[Raw]:
    """Give each condition its transition time: the old one unless its status flipped."""
    old = {each["type"]: each for each in before}
    timed = []
    for condition in conditions:
        previous = old.get(condition["type"])
        same = previous is not None and previous["status"] == condition["status"]
        since = previous.get("lastTransitionTime", now) if previous is not None and same else now
        # A merge patch leaves what it does not name: say that there is no reason any more.
        blank = {"reason": None, "message": None, "lastProbeTime": None}
        timed.append(blank | condition | {"lastTransitionTime": since})
    return timed
