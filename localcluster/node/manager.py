"""The pods of the node: one worker for each pod that has not ended, and the deletion of the others.

The informer's thread reports pods; workers report their end from their own threads.
"""

import queue
import threading
from pathlib import Path

from kube.errors import ApiError
from localcluster.client.rest import Raw
from localcluster.machine import clock
from localcluster.node.network.addresses import AddressPool
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.pod.starter import Sandbox
from localcluster.node.pod.status import TERMINAL, delete_pod
from localcluster.node.pod.worker import PodWorker
from localcluster.node.spec.env import PodFacts

POD_RETRY_SECONDS = 1.0


class PodManager:
    """The workers by the pod's UID, and the folder of each pod's logs."""

    def __init__(
        self, node: NodeContext, addresses: AddressPool, folder: Path, allocatable: Raw
    ) -> None:
        self._node = node
        self._addresses = addresses
        self._folder = folder
        self._allocatable = allocatable
        self._lock = threading.Lock()  # guards the three below
        self._workers: dict[str, PodWorker] = {}
        self._uids: dict[tuple[str, str], str] = {}
        # Pods that have ended here, although a late event can still show them running.
        self._over: set[str] = set()
        self._ended: queue.Queue[Raw] = queue.Queue()

    def start(self) -> None:
        """Start the thread that deletes pods which have ended and have a deletion timestamp."""
        threading.Thread(target=self._delete_ended, name="deletions", daemon=True).start()

    def replace(self, pods: list[Raw]) -> None:
        """Replace the known pods by those of this node in a list of all pods of the cluster."""
        mine = [pod for pod in pods if self._is_mine(pod)]
        uids = {pod["metadata"]["uid"] for pod in mine}
        with self._lock:
            lost = [worker for uid, worker in self._workers.items() if uid not in uids]
            self._uids = {_key(pod): pod["metadata"]["uid"] for pod in mine}
            self._over &= uids
        for worker in lost:
            worker.abandon()
        for pod in mine:
            self._take(pod)
        if self._folder.is_dir():
            self._remove([path for path in self._folder.iterdir() if path.name not in uids])

    def event(self, kind: str, pod: Raw) -> None:
        """Handle a change of one pod of the cluster; pods of other nodes are ignored."""
        if not self._is_mine(pod):
            return
        if kind == "DELETED":
            self._forget(pod)
        else:
            self._take(pod)

    def config_map_changed(self, namespace: str, name: str) -> None:
        """Report a changed ConfigMap to the worker of every pod."""
        with self._lock:
            workers = list(self._workers.values())
        for worker in workers:
            worker.config_map_changed(namespace, name)

    def log_folder(self, namespace: str, pod: str) -> Path | None:
        """The folder with a pod's logs, `<container>/<restart>.log`; None for an unknown pod."""
        with self._lock:
            uid = self._uids.get((namespace, pod))
        return None if uid is None else self._folder / uid / "logs"

    def find(self, namespace: str, pod: str) -> PodWorker | None:
        """The worker of a pod; None if the pod has ended or is unknown."""
        with self._lock:
            return self._workers.get(self._uids.get((namespace, pod), ""))

    def is_log_complete(self, namespace: str, pod: str, path: Path) -> bool:
        """Whether nothing more will be written to this log of the pod."""
        worker = self.find(namespace, pod)
        return worker is None or worker.is_log_complete(path)

    def _is_mine(self, pod: Raw) -> bool:
        return bool(pod["spec"].get("nodeName") == self._node.name)

    def _take(self, pod: Raw) -> None:
        uid = pod["metadata"]["uid"]
        has_ended = (pod.get("status") or {}).get("phase") in TERMINAL
        with self._lock:
            self._uids[_key(pod)] = uid
            worker = self._workers.get(uid)
            if worker is None and uid not in self._over and not has_ended:
                worker = self._workers[uid] = self._new_worker(pod)
                worker.start()
                return
            if worker is not None:
                worker.update(pod)  # with the lock, or `_finished` takes an older version
        if worker is None and "deletionTimestamp" in pod["metadata"]:
            self._ended.put(pod)

    def _new_worker(self, pod: Raw) -> PodWorker:
        spec, metadata = pod["spec"], pod["metadata"]
        on_host = bool(spec.get("hostNetwork"))
        node_address = self._addresses.node_address
        address = node_address if on_host else self._address_of(pod)
        hostname = self._node.name if on_host else spec.get("hostname") or metadata["name"]
        sandbox = Sandbox(
            self._folder / metadata["uid"],
            hostname[:63],
            PodFacts(address, node_address, self._allocatable),
        )
        return PodWorker(pod, sandbox, self._node, self._finished)

    def _address_of(self, pod: Raw) -> str:
        """A new address, but the old one for a pod whose containers are not started again: a
        kubelet shows how they ended, and makes no other sandbox.
        """
        status = pod.get("status") or {}
        is_past = status.get("phase") == "Running" and pod["spec"].get("restartPolicy") == "Never"
        former = status.get("podIP") if is_past else None
        return self._addresses.keep(former) if former else self._addresses.take()

    def _finished(self, worker: PodWorker) -> None:
        if worker.address != self._addresses.node_address:
            self._addresses.release(worker.address)
        with self._lock:
            pod = worker.newest  # from now on, deletions find no worker
            self._workers.pop(pod["metadata"]["uid"], None)
            is_known = self._uids.get(_key(pod)) == pod["metadata"]["uid"]
            if is_known:
                self._over.add(pod["metadata"]["uid"])
        if not is_known:
            self._remove([self._folder / pod["metadata"]["uid"]])
        elif "deletionTimestamp" in pod["metadata"]:
            self._ended.put(pod)

    def _forget(self, pod: Raw) -> None:
        uid = pod["metadata"]["uid"]
        with self._lock:
            if self._uids.get(_key(pod)) == uid:
                del self._uids[_key(pod)]
            self._over.discard(uid)
            worker = self._workers.get(uid)
        if worker is not None:
            worker.abandon()
        else:
            self._remove([self._folder / uid])

    def _remove(self, folders: list[Path]) -> None:
        if folders:
            self._node.runtime.remove(folders, [])

    def _delete_ended(self) -> None:
        while True:
            pod = self._ended.get()
            try:
                delete_pod(self._node.client, pod)
            except ApiError:
                clock.sleep(POD_RETRY_SECONDS)
                self._ended.put(pod)


def _key(pod: Raw) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]
