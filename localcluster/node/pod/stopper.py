"""Stop containers as a kubelet does: preStop hooks, SIGTERM, the grace period, SIGKILL.

Main and init containers stop together; then the sidecars, the last one first. Runs in the pod's
thread; hooks have threads of their own.
"""

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from localcluster.client.rest import Raw
from localcluster.machine import clock
from localcluster.node.pod.containers import Container
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.pod.probes import run_handler

LEAST_GRACE_SECONDS = 2.0  # for each sidecar, even if the grace period is over
KILL_SECONDS = 10.0


@dataclass(frozen=True)
class Stopper:
    """Stops containers of one pod. `pause` waits for a wake-up or until a time, and raises Gone if
    the pod was removed from the API server.
    """

    node: NodeContext
    pause: Callable[[float], None]

    def stop(
        self,
        pod: Raw,
        inits: Sequence[Container],
        mains: Sequence[Container],
        grace_seconds: Callable[[], float],
    ) -> None:
        """Stop all these containers, and wait until their processes have ended.

        `grace_seconds` is called repeatedly, because the grace period can change meanwhile.
        """
        started = clock.monotonic()

        def deadline(least: float = 0.0) -> float:
            return max(started + grace_seconds(), least)

        ordinary = [each for each in inits if each.role == "init"]
        self._stop_together(pod, [*mains, *ordinary], deadline)
        for sidecar in reversed([each for each in inits if each.role == "sidecar"]):
            least = clock.monotonic() + LEAST_GRACE_SECONDS
            self._stop_together(pod, [sidecar], partial(deadline, least))

    def kill(self, containers: Sequence[Container]) -> None:
        """Kill these containers and wait for the end of each, at most 10 seconds."""
        processes = [each.process for each in containers if each.process is not None]
        for process in processes:
            self.node.runtime.kill(process, signal.SIGKILL)
        for process in processes:
            process.ended.wait(KILL_SECONDS)

    def _stop_together(
        self, pod: Raw, containers: Sequence[Container], deadline: Callable[[], float]
    ) -> None:
        running = [each for each in containers if each.is_running and each.process is not None]
        for container in running:
            self._ask_to_stop(pod, container, deadline())
        while clock.monotonic() < deadline() and _some_run(running):
            self.pause(deadline())
        self.kill([each for each in running if _some_run([each])])

    def _ask_to_stop(self, pod: Raw, container: Container, deadline: float) -> None:
        text = f"Stopping container {container.name}"
        self.node.events.record(pod, "Normal", "Killing", text, container.field_path)
        hook = (container.spec.get("lifecycle") or {}).get("preStop")
        if hook is None:
            self._terminate(container)
            return
        threading.Thread(
            target=self._run_hook,
            args=(pod, container, hook, deadline),
            name=f"preStop {container.name}",
            daemon=True,
        ).start()

    def _run_hook(self, pod: Raw, container: Container, hook: Raw, deadline: float) -> None:
        address = (pod.get("status") or {}).get("podIP", "127.0.0.1")
        left = max(0.1, deadline - clock.monotonic())
        error = run_handler(self.node, pod, container, hook, address, left)
        if error:
            self.node.events.record(pod, "Warning", "FailedPreStopHook", error)
        self._terminate(container)

    def _terminate(self, container: Container) -> None:
        if container.process is not None:
            self.node.runtime.kill(container.process, signal.SIGTERM)


def _some_run(containers: Sequence[Container]) -> bool:
    return any(each.process is not None and not each.process.ended.is_set() for each in containers)
