"""Lets only one job at a time run its pods, if pods share the machine's network.

Pods listen on fixed ports of all addresses (PaddlePaddle's launcher does), so those of a second job
would find the ports in use, or hang. A job keeps the network until none of its pods is left. Any
thread may call.
"""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from localcluster.client.rest import Client, Raw
from localcluster.machine.filelock import FileLock

KIND = "PaddleJob"
NOT_ENDED = "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True)
class Turn:
    """The current job, in a file that all nodes of the cluster share.

    Its lock is held only for moments, and never during a request to the API server.
    """

    file: Path
    client: Client

    def take(self, pod: Raw) -> str:
        """Return "" if the pod's job is the current one, else why the pod has to wait.

        Raises ApiError if the API server does not answer.
        """
        owner = _owner(pod)
        if owner is None or pod["spec"].get("hostNetwork"):
            return ""
        while True:
            seen = self._read()
            holder = seen.partition(" ")[0]
            running = self._pods_of(holder) if holder not in ("", owner["uid"]) else []
            if running:
                return (
                    "pods share this machine's network here, so one job runs at a time:"
                    f" this one waits until the pods of {running[0]} have ended"
                )
            if self._write(seen, f"{owner['uid']} {uuid4().hex}"):
                return ""

    def _read(self) -> str:
        return self.file.read_text() if self.file.exists() else ""

    def _write(self, before: str, now: str) -> bool:
        """Replace the file's content; False if another node has changed it meanwhile.

        Each write differs from the content before, so we also notice that a pod of the current job
        has started after our list.
        """
        with FileLock(self.file.with_suffix(".lock")):
            if self._read() != before:
                return False
            new = self.file.with_suffix(".new")
            new.write_text(now)
            new.rename(self.file)
            return True

    def _pods_of(self, uid: str) -> list[str]:
        """The name of the job with this UID, once for each of its pods that have not ended."""
        pods = self.client.get(NOT_ENDED)["items"]
        owners = [(pod["metadata"]["namespace"], _owner(pod)) for pod in pods]
        return [f"{space}/{each['name']}" for space, each in owners if each and each["uid"] == uid]


def _owner(pod: Raw) -> Raw | None:
    """The reference to the job that the pod belongs to."""
    references: list[Raw] = pod["metadata"].get("ownerReferences") or []
    return next(
        (each for each in references if each.get("controller") and each["kind"] == KIND), None
    )
