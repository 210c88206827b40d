"""Every pod's /etc/hosts, kept up to date with Services and pods.

Informer threads report changes. Another thread writes the files, 50 ms after the first change of a
burst. A file is replaced atomically, so a reader sees either the old one or the new one.
"""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from localcluster.client.rest import Raw
from localcluster.machine import clock
from localcluster.node.network.names import DOMAIN, HostsLine, PodAddress, build_lines, pod_address

SETTLE_SECONDS = 0.05
API_SERVER_NAMES = (
    "kubernetes.default.svc.cluster.local kubernetes.default.svc kubernetes.default kubernetes"
)

Known = TypeVar("Known")


@dataclass(frozen=True)
class HostsFile:
    """One pod's file: the pod's own lines come before those of Services."""

    path: Path
    namespace: str
    head: str

    def write(self, lines: list[HostsLine]) -> None:
        """Write the pod's own lines, then `lines`, unless the file already has this content."""
        text = self.head + "".join(line.text(self.namespace) + "\n" for line in lines)
        if self.path.exists() and self.path.read_text() == text:
            return
        replacement = self.path.with_name(".hosts")
        replacement.write_text(text)
        replacement.chmod(0o644)
        replacement.rename(self.path)


def build_head(pod: Raw, address: str, hostname: str, api_server_host: str) -> str:
    """The lines of /etc/hosts that a kubelet writes for the pod itself."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    own = hostname
    if subdomain := spec.get("subdomain"):
        own = f"{hostname}.{subdomain}.{namespace}.{DOMAIN}\t{hostname}"
    lines = ["127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback"]
    lines.append(f"{address}\t{own}")
    lines.append(f"{api_server_host}\t{API_SERVER_NAMES}")
    for alias in spec.get("hostAliases") or []:
        lines.append("\t".join([alias["ip"], *alias.get("hostnames", [])]))
    return "\n".join(lines) + "\n"


class Hosts:
    """The hosts files of a node's pods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all below, and the writing of files
        self._pods: dict[str, PodAddress] = {}
        self._services: dict[str, Raw] = {}
        self._files: dict[str, HostsFile] = {}
        self._lines: list[HostsLine] = []
        self._changed = threading.Event()

    def start(self) -> None:
        """Start the thread that writes the files after changes."""
        threading.Thread(target=self._write_forever, name="hosts", daemon=True).start()

    def add_file(self, uid: str, file: HostsFile) -> None:
        """Write a new pod's file now, and keep it up to date until `remove_file`."""
        with self._lock:
            self._files[uid] = file
            file.write(self._lines)

    def remove_file(self, uid: str) -> None:
        """Stop updating this pod's file."""
        with self._lock:
            self._files.pop(uid, None)

    def replace_pods(self, pods: list[Raw]) -> None:
        """Replace the known pods by a list of all pods of the cluster."""
        found = {pod["metadata"]["uid"]: pod_address(pod) for pod in pods}
        with self._lock:
            self._pods = {uid: each for uid, each in found.items() if each is not None}
        self._changed.set()

    def pod_event(self, kind: str, pod: Raw) -> None:
        """Handle a change of one pod of the cluster."""
        self._put(self._pods, pod, None if kind == "DELETED" else pod_address(pod))

    def replace_services(self, services: list[Raw]) -> None:
        """Replace the known Services by a list of all Services of the cluster."""
        with self._lock:
            self._services = {each["metadata"]["uid"]: each for each in services}
        self._changed.set()

    def service_event(self, kind: str, service: Raw) -> None:
        """Handle a change of one Service of the cluster."""
        self._put(self._services, service, None if kind == "DELETED" else service)

    def _put(self, known: dict[str, Known], of: Raw, what: Known | None) -> None:
        uid = of["metadata"]["uid"]
        with self._lock:
            if known.get(uid) == what:
                return
            known.pop(uid, None)
            if what is not None:
                known[uid] = what
        self._changed.set()

    def _write_forever(self) -> None:
        while self._changed.wait():
            clock.sleep(SETTLE_SECONDS)
            self._changed.clear()
            with self._lock:
                self._lines = build_lines(list(self._services.values()), list(self._pods.values()))
                for file in self._files.values():
                    file.write(self._lines)
