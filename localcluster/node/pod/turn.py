"""Lets only one job at a time run its pods, if pods share the machine's network.

PaddlePaddle's launcher listens on fixed ports of all addresses, so the pods of a second job would
find the ports in use, or hang. The next job waits until all pods of the current one have ended. Any
thread can call the methods.
"""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from localcluster.client.rest import Raw, ServerClient
from localcluster.machine.filelock import FileLock

KIND = "PaddleJob"
WAITS = (
    "pods share this machine's network here, so one job runs at a time: "
    "this one waits until the pods of {} have ended"
)
NOT_ENDED = "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True)
class Turn:
    """The current job. All nodes of the cluster share `file`, which contains the job's UID.

    The file is locked only for a moment to write it, never during a request to the API server.
    """

    file: Path
    client: ServerClient

    def take(self, pod: Raw) -> str:
        """Make the pod's job the current job. Return "", or why the pod has to wait.

        A pod that has no PaddleJob, or is on the host's network, never waits. Raises ApiError.
        """
        owner = _owner(pod)
        if owner is None or pod["spec"].get("hostNetwork"):
            return ""
        while True:
            seen = self._read()
            holder = seen.partition(" ")[0]
            running = self._pods_of(holder) if holder not in ("", owner["uid"]) else []
            if running:
                return WAITS.format(running[0])
            if self._write(seen, f"{owner['uid']} {uuid4().hex}"):
                return ""

    def _read(self) -> str:
        return self.file.read_text() if self.file.exists() else ""

    def _write(self, before: str, now: str) -> bool:
        """Replace the file's content; False if a node has written it since we read `before`.

        Every write changes the content, also for the same job. So the write also fails if a
        pod of the current job has started since we listed that job's pods.
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
    """The reference to the pod's PaddleJob; None if the pod belongs to no PaddleJob."""
    references: list[Raw] = pod["metadata"].get("ownerReferences") or []
    return next(
        (each for each in references if each.get("controller") and each["kind"] == KIND), None
    )
