"""Startup, readiness and liveness probes, each in a thread of its own.

A probe's thread changes `started` and `ready` of its container and wakes the pod's thread. A failed
liveness or startup probe stops the container; then the pod's thread handles the container's end.
"""

import contextlib
import http.client
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

from localcluster.client.rest import Raw
from localcluster.node.pod.containers import Container
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.runtime.runtime import Process, StartFailed

KINDS = ("startupProbe", "readinessProbe", "livenessProbe")
OUTPUT_CHARACTERS = 1000


def run_handler(
    node: NodeContext,
    pod: Raw,
    container: Container,
    handler: Raw,
    address: str,
    timeout_seconds: float,
) -> str:
    """Run a probe or hook once; return the error, or "". Handlers other than exec, httpGet and
    tcpSocket do nothing and succeed.
    """
    process = container.process
    if process is None:
        return "the container does not run"
    try:
        if command := handler.get("exec"):
            code, output = node.runtime.run(process, command["command"], timeout_seconds)
            return (
                "" if code == 0 else output[:OUTPUT_CHARACTERS].decode(errors="replace") or "failed"
            )
        request = handler.get("httpGet")
        if asked := request or handler.get("tcpSocket"):
            target = asked.get("host") or address, _port(asked["port"], container.spec)
            with node.connect(pod, target, timeout_seconds) as opened:
                return _http_get(request, target, opened) if request else ""
    except (OSError, http.client.HTTPException, StartFailed) as error:
        return str(error) or type(error).__name__
    return ""


def _http_get(request: Raw, target: tuple[str, int], opened: socket.socket) -> str:
    connection = http.client.HTTPConnection(*target)
    if request.get("scheme") == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        opened = context.wrap_socket(opened, server_hostname=target[0])
    connection.sock = opened
    with contextlib.closing(connection):
        headers = {each["name"]: each["value"] for each in request.get("httpHeaders") or []}
        connection.request("GET", request.get("path") or "/", headers=headers)
        status = connection.getresponse().status
    return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"


def _port(port: int | str, spec: Raw) -> int:
    if isinstance(port, int) or port.isdigit():
        return int(port)
    for each in spec.get("ports") or []:
        if each.get("name") == port:
            return int(each["containerPort"])
    raise OSError(f'no port named "{port}"')


@dataclass
class Prober:
    """The probes of one pod."""

    node: NodeContext
    address: str
    wake: Callable[[], None]

    def watch(self, pod: Raw, container: Container) -> None:
        """Start the container's probes; they end with its process."""
        for kind in KINDS:
            if container.spec.get(kind):
                assert container.process is not None
                task = _ProbeTask(self, pod, container, kind, container.spec[kind])
                threading.Thread(
                    target=task.run, args=(container.process,), name=f"{kind} {container.name}",
                    daemon=True,
                ).start()  # fmt: skip


@dataclass
class _ProbeTask:
    """One probe of one run of a container."""

    prober: Prober
    pod: Raw
    container: Container
    kind: str
    probe: Raw

    def run(self, process: Process) -> None:
        probe = self.probe
        period = probe.get("periodSeconds") or 10
        wait = probe.get("initialDelaySeconds") or 0
        successes = failures = 0
        while not process.ended.wait(wait):
            if self.kind == "startupProbe" or self.container.started:
                error = self._try()
                successes, failures = (0, failures + 1) if error else (successes + 1, 0)
                if self._judge(process, error, successes, failures):
                    return
            wait = period if self.container.started or self.kind == "startupProbe" else 0.2

    def _try(self) -> str:
        node, address = self.prober.node, self.prober.address
        timeout = self.probe.get("timeoutSeconds") or 1
        return run_handler(node, self.pod, self.container, self.probe, address, timeout)

    def _judge(self, process: Process, error: str, successes: int, failures: int) -> bool:
        """Handle the outcome of one try; True if the probe is not to run again."""
        if error:
            self._tell("Unhealthy", f"{self._title} probe failed: {error}")
        if successes >= (self.probe.get("successThreshold") or 1):
            self._passed()
            return self.kind == "startupProbe"
        if failures >= (self.probe.get("failureThreshold") or 3):
            return self._failed(process)
        return False

    @property
    def _title(self) -> str:
        return self.kind.removesuffix("Probe").capitalize()

    def _tell(self, reason: str, message: str) -> None:
        kind = "Warning" if reason == "Unhealthy" else "Normal"
        self.prober.node.events.record(self.pod, kind, reason, message, self.container.field_path)

    def _passed(self) -> None:
        container = self.container
        if self.kind == "startupProbe" and not container.started:
            container.started = True
            container.ready = "readinessProbe" not in container.spec
            self.prober.wake()
        elif self.kind == "readinessProbe" and not container.ready:
            container.ready = True
            self.prober.wake()

    def _failed(self, process: Process) -> bool:
        if self.kind == "readinessProbe":
            if self.container.ready:
                self.container.ready = False
                self.prober.wake()
            return False
        name, title = self.container.name, self._title.lower()
        self._tell("Killing", f"Container {name} failed {title} probe, will be restarted")
        grace = self.probe.get("terminationGracePeriodSeconds")
        if grace is None:
            grace = self.pod["spec"].get("terminationGracePeriodSeconds", 30)
        self.prober.node.runtime.kill(process, signal.SIGTERM)
        if not process.ended.wait(grace):
            self.prober.node.runtime.kill(process, signal.SIGKILL)
        return True
