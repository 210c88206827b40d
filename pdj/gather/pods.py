"""A pod, described as in `kubectl get pods`."""

from dataclasses import dataclass
from datetime import datetime

from api.constants import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE
from api.objects import Raw, is_deleting, labels_of, name_of, parse_time, uid_of
from api.trainer import container_status, container_statuses, trainer_name


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a job. `state` is for example Running, ImagePullBackOff or `Error (1)`."""

    name: str
    uid: str
    role: str
    index: int
    attempt: int
    node: str
    state: str
    is_running: bool
    restarts: int
    created_at: datetime | None


def read_pod(raw: Raw) -> Pod:
    """Describe a raw pod, even if its labels are wrong."""
    labels = labels_of(raw)
    return Pod(
        name=name_of(raw),
        uid=uid_of(raw),
        role=labels.get(LABEL_ROLE, ""),
        index=_number(labels.get(LABEL_INDEX)),
        attempt=_number(labels.get(LABEL_ATTEMPT)),
        node=str((raw.get("spec") or {}).get("nodeName") or ""),
        state=_state(raw),
        is_running=_is_running(raw),
        restarts=sum(int(each.get("restartCount") or 0) for each in container_statuses(raw)),
        created_at=parse_time(raw["metadata"].get("creationTimestamp")),
    )


def trainer_status(raw: Raw) -> Raw:
    """The status of the trainer container; empty if it has none yet."""
    return container_status(raw, trainer_name(raw.get("spec") or {}))


def _state(raw: Raw) -> str:
    status = raw.get("status") or {}
    if is_deleting(raw):
        return "Terminating"
    if status.get("reason"):
        return str(status["reason"])
    for container in container_statuses(raw):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "", "PodInitializing", "ContainerCreating"):
            return str(waiting["reason"])
    ended = (trainer_status(raw).get("state") or {}).get("terminated")
    if ended:
        return _end(ended)
    phase = str(status.get("phase") or "Unknown")
    if phase == "Pending" and (raw.get("spec") or {}).get("nodeName"):
        return "ContainerCreating"
    return phase


def _end(ended: Raw) -> str:
    reason = str(ended.get("reason") or "")
    if ended.get("exitCode"):
        return f"{reason or 'Error'} ({ended['exitCode']})"
    return reason or "Completed"


def _is_running(raw: Raw) -> bool:
    state = trainer_status(raw).get("state") or {}
    return "running" in state and not is_deleting(raw)


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
