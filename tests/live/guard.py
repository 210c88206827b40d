"""A port of a pod behind its NetworkPolicy, as where the cluster's network enforces those.

The local cluster's does not. So this listens where the pod's clients connect, finds the pod whose
process a connection comes from, and hands on those that the policy lets in.
"""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from localcluster import Cluster

Raw = dict[str, Any]
TCP_TABLE = Path("/proc/net/tcp")
OWN_ADDRESS, INODE = 1, 9
"""Columns of the table."""


class Guard:
    """Stands before the port of a pod until it is closed; the pod itself listens `behind` it."""

    def __init__(self, cluster: Cluster, policy: Raw, address: str, port: int, behind: int) -> None:
        self._cluster = cluster
        self._policy = policy
        self._port = port
        self._behind = (address, behind)
        self._listener = socket.create_server((address, port))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _run(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, peer = self._listener.accept()
                threading.Thread(target=self._serve, args=(client, peer), daemon=True).start()

    def _serve(self, client: socket.socket, peer: tuple[str, int]) -> None:
        with client, suppress(OSError):
            pod = self._pod_of(peer)
            if pod is None or not admits(self._policy, self._port, pod):
                return
            with socket.create_connection(self._behind) as server:
                back = threading.Thread(target=hand_on, args=(server, client), daemon=True)
                back.start()
                hand_on(client, server)
                back.join()

    def _pod_of(self, peer: tuple[str, int]) -> Raw | None:
        address = pod_address_of(process_of(peer))
        pods = self._cluster.client.get("/api/v1/pods")["items"]
        return next((pod for pod in pods if pod["status"].get("podIP") == address), None)


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


def process_of(peer: tuple[str, int]) -> Path:
    """The folder in /proc of the process that has the client's end of a connection."""
    address = f"{socket.inet_aton(peer[0])[::-1].hex().upper()}:{peer[1]:04X}"
    rows = (line.split() for line in TCP_TABLE.read_text().splitlines())
    inode = next(row[INODE] for row in rows if row[OWN_ADDRESS] == address)
    for each in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has ended
            if str(each.readlink()) == f"socket:[{inode}]":
                return each.parents[1]
    raise ConnectionError(peer)


def pod_address_of(process: Path) -> str:
    """The address that stands beside the pod's own name in its /etc/hosts."""
    etc = process / "root/run/pod-etc"  # to which the links in /etc lead there
    name = (etc / "hostname").read_text().strip()
    lines = (line.split() for line in (etc / "hosts").read_text().splitlines())
    return next((line[0] for line in lines if name in line[1:]), "")
