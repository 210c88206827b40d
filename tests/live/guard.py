"""A port of a pod behind its NetworkPolicy, as where the cluster's network enforces those.

The local cluster's does not. So this listens in the pod's own network where its clients connect,
finds the pod that a connection comes from, and hands on those that the policy lets in.
"""

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from api.objects import Raw
from localcluster import Cluster
from localcluster.node.runtime import linux


class Guard:
    """Stands before the port of a pod until it is closed; the pod itself listens `behind` it."""

    def __init__(self, cluster: Cluster, policy: Raw, address: str, port: int, behind: int) -> None:
        self._cluster = cluster
        self._policy = policy
        self._port = port
        self._behind = (address, behind)
        self._listener = listener_in(process_of(address), (address, port))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _run(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, (address, _) = self._listener.accept()
                args = (client, address)
                threading.Thread(target=self._serve, args=args, daemon=True).start()

    def _serve(self, client: socket.socket, address: str) -> None:
        with client, suppress(OSError):
            pods = self._cluster.client.get("/api/v1/pods")["items"]
            asking = [pod for pod in pods if pod["status"].get("podIP") == address]
            if not any(admits(self._policy, self._port, pod) for pod in asking):
                return
            with socket.create_connection(self._behind) as server:
                back = threading.Thread(target=hand_on, args=(server, client), daemon=True)
                back.start()
                hand_on(client, server)
                back.join()


def admits(policy: Raw, port: int, pod: Raw) -> bool:
    """Whether the ingress rules let a pod in at this port."""
    namespace = policy["metadata"]["namespace"]
    return any(
        {"port": port, "protocol": "TCP"} in rule["ports"]
        and any(is_peer(peer, namespace, pod) for peer in rule["from"])
        for rule in policy["spec"]["ingress"]
    )


def is_peer(peer: Raw, namespace: str, pod: Raw) -> bool:
    """Whether a pod is one of these peers. Without a namespaceSelector they are of the policy's."""
    assert peer.keys() == {"podSelector"}, peer
    assert peer["podSelector"].keys() == {"matchLabels"}, peer
    wanted = peer["podSelector"]["matchLabels"].items()
    metadata = pod["metadata"]
    return metadata["namespace"] == namespace and wanted <= metadata.get("labels", {}).items()


def hand_on(source: socket.socket, target: socket.socket) -> None:
    """Copy what comes until it ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def process_of(address: str) -> Path:
    """The folder in /proc of a process of the pod with this address."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if pod_address_of(process) == address:
                return process
    raise LookupError(address)


def pod_address_of(process: Path) -> str:
    """The address that stands beside the pod's own name in its /etc/hosts."""
    etc = process / "root/run/pod-etc"  # to which the links in /etc lead there
    name = (etc / "hostname").read_text().strip()
    lines = (line.split() for line in (etc / "hosts").read_text().splitlines())
    return next((line[0] for line in lines if name in line[1:]), "")


def listener_in(process: Path, address: tuple[str, int]) -> socket.socket:
    """A socket that listens in the network of a process."""

    def listen() -> socket.socket:
        network = os.open(process / "ns/net", os.O_RDONLY)
        try:
            linux.setns(network, linux.CLONE_NEWNET)
            return socket.create_server(address)
        finally:
            os.close(network)

    with ThreadPoolExecutor(1) as thread:  # which alone moves there, and ends
        return thread.submit(listen).result()
