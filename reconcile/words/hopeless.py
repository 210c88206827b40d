"""Tells from a kubelet's or a runtime's words whether a container can never start as it is.

Only what cannot heal is listed: a wrong key, user, command or folder, or too little memory. The
words are those of kubelet 1.36 (`kuberuntime`), cri-api's errors, runc 1.2, crun 1.20, gVisor.
"""

import re

_HOPELESS = re.compile(
    "couldn't find key|non-existent (?:config|secret) key"
    "|runAsNonRoot|non-root policy|unable to find (?:user|group)|no users found"
    "|invalid reference format|no command|executable file `|open executable|finding executable"
    r"|container process.*\bexec: \\?\"|container process.* exec /|exec format error|chdir to"
    "|memory limit too low|mount a directory onto a file"
)
_OF_THE_NODE = re.compile(r'hook|exec: "[^"]*(?:runc|crun|containerd|nvidia)')
"""A hook of the runtime is a command, too, but the node's; so is the runtime itself."""


def is_hopeless(text: str) -> bool:
    """Whether the pod's template is wrong, so that no other try and no other node helps."""
    return _HOPELESS.search(text) is not None and not _OF_THE_NODE.search(text)
