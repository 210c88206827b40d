"""What a container waits for, in its kubelet's words: is it an error, and can it heal by itself?

A kubelet tries again for ever. So only what cannot heal is listed, and what is normal. Any other
state is an error that can heal, also one that nobody knows.

The words are those of kubelet 1.36 (`kuberuntime`, `images/types.go`), of cri-api's errors, runc
1.2, crun 1.20 and gVisor.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from api.constants import Reason
from api.objects import Raw
from reconcile.model.hold import CONFIG_FLAG, IMAGE_FLAG

UNTRIED = frozenset({"", "ContainerCreating", "PodInitializing"})
"""The states of a container that the kubelet has not tried to start."""
NORMAL = UNTRIED | {"CrashLoopBackOff"}
"""Any other state is an error: the kubelet has tried in vain to start the container."""
PULL_BACKS_OFF = "ImagePullBackOff"
_IMAGE = re.compile("Image|Pull|Registry|Signature")
_HOPELESS_STATES = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_HOPELESS = re.compile(
    "couldn't find key|non-existent (?:config|secret) key"
    "|runAsNonRoot|non-root policy|unable to find (?:user|group)|no users found"
    "|invalid reference format|no command|executable file `|open executable|finding executable"
    r"|container process.*\bexec: \\?\"|container process.* exec /|exec format error|chdir to"
    "|memory limit too low|mount a directory onto a file"
)
"""A wrong key, user, command or folder, or too little memory."""
_OF_THE_NODE = re.compile(
    r"(?i:running|executing) (?:\w+ )?hook"
    r'|exec: \\?"(?:[^"]*/s?bin/)?(?:runc|crun|containerd|nvidia)[\w-]*\\?"'
)
"""A hook of the runtime is a command, too, but the node's; so are the runtime itself, and the tools
of a driver. A script of the image is not, whatever its folder is called."""


def is_hopeless(text: str) -> bool:
    """Whether the pod's template is wrong, so that no other try and no other node helps."""
    return _HOPELESS.search(text) is not None and not _OF_THE_NODE.search(text)


class Wait(NamedTuple):
    """A container that waits: its name, empty for the trainer; the kubelet's reason and message."""

    container: str
    state: str
    text: str

    @property
    def reason(self) -> Reason:
        """The kind of error that it is, unless its state is NORMAL."""
        return Reason.IMAGE_ERROR if _IMAGE.search(self.state) else Reason.CONFIG_ERROR

    @property
    def heals(self) -> bool:
        """Whether the kubelet can succeed later, with the pod as it is."""
        return self.state not in _HOPELESS_STATES and not is_hopeless(self.text)

    @property
    def flag(self) -> str:
        """The flag that sets how long the error lasts before the job fails."""
        return IMAGE_FLAG if self.heals else CONFIG_FLAG

    def describe(self, pod: str) -> str:
        """The pod, the container unless that is the trainer, and what the kubelet says of it."""
        where = f"{pod} ({self.container})" if self.container else pod
        return f"{where}: {self.state}: {self.text}" if self.text else f"{where}: {self.state}"


def read_waits(statuses: Iterable[Raw], trainer: str) -> Iterator[Wait]:
    """The waits in these statuses of a pod's containers; the trainer has this name."""
    for status in statuses:
        if waiting := (status.get("state") or {}).get("waiting"):
            name = "" if status.get("name") == trainer else str(status.get("name"))
            words = (str(waiting.get(key) or "") for key in ("reason", "message"))
            yield Wait(name, *words)
