"""What a container waits for, in its kubelet's words: is it an error, and can it heal by itself?

A kubelet tries again for ever. So only what cannot heal is listed, and what is normal. Any other
state is an error that can heal, also one that nobody knows.

The states are those of kubelet 1.36 (`kuberuntime`, `images/types.go`) and cri-api's errors.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from api.objects import Raw
from api.trainer import container_statuses, trainer_name
from reconcile.model.hold import MAX_CAUSE_CHARACTERS
from reconcile.model.pods import PodView
from reconcile.model.view import View
from reconcile.words.hopeless import is_hopeless

UNTRIED = frozenset({"", "ContainerCreating", "PodInitializing"})
"""The states of a container that the kubelet has not tried to start."""
NORMAL = UNTRIED | {"CrashLoopBackOff"}
"""Any other state is an error: the kubelet has tried in vain to start the container."""
PULL_BACKS_OFF = "ImagePullBackOff"
_IMAGE = re.compile("Image|Pull|Registry|Signature")
_HOPELESS_STATES = frozenset({"InvalidImageName", "ErrImageNeverPull"})


class Wait(NamedTuple):
    """A container that waits: the kubelet's reason, `state`, and its message, `text`."""

    container: str
    state: str
    text: str

    @property
    def is_image(self) -> bool:
        """Whether the node lacks the image."""
        return bool(_IMAGE.search(self.state))

    @property
    def heals(self) -> bool:
        """Whether the kubelet can succeed later, with the pod as it is."""
        return self.state not in _HOPELESS_STATES and not is_hopeless(self.text)


def waits_of(pod: Raw) -> Iterator[Wait]:
    """The containers of a pod that wait, init containers first."""
    for container in container_statuses(pod):
        waiting = (container.get("state") or {}).get("waiting")
        if waiting:
            reason, message = waiting.get("reason") or "", waiting.get("message") or ""
            yield Wait(str(container.get("name")), str(reason), str(message))


def describe_wait(view: View, pod: PodView, wait: Wait) -> str:
    """The pod, its container unless that is the trainer, and what its kubelet says of it."""
    trainer = trainer_name(view.job.spec.roles[pod.role].pod_spec) if pod.role else ""
    where = pod.name if wait.container == trainer else f"{pod.name} ({wait.container})"
    said = f"{wait.state}: {wait.text}" if wait.text else wait.state
    return f"{where}: {said}"[:MAX_CAUSE_CHARACTERS]
