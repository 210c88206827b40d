"""Which container of a pod trains, and the one variable that the user may set for all of them."""

from api.constants import TRAINER_CONTAINER
from api.objects import Raw

PORT_VARIABLE = "PADDLE_PORT"
"""Set in the templates, it becomes the port of every endpoint of the job."""


def trainer_name(pod_spec: Raw) -> str:
    """The trainer container's name: `paddle` where there is one, else the first's."""
    names = [container.get("name", "") for container in pod_spec.get("containers") or ()]
    if TRAINER_CONTAINER in names or not names:
        return TRAINER_CONTAINER
    return str(names[0])


def trainer_of(pod_spec: Raw) -> Raw:
    """The trainer container of a pod spec; empty where there is no container."""
    name = trainer_name(pod_spec)
    return next((c for c in pod_spec.get("containers") or () if c.get("name") == name), {})
