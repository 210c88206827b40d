"""Keep a container running: start it when it should run and does not, and wait where it must wait.

Owned by the pod's worker thread.
"""

from collections.abc import Callable
from dataclasses import dataclass

from localcluster import clock
from localcluster.node.backoff import Backoff
from localcluster.node.client import Raw
from localcluster.node.containers import Container
from localcluster.node.probes import Prober
from localcluster.node.starter import NotYet, Starter

# How long the status shows a failed pull before it shows the back-off.
PULL_ERROR_SECONDS = 1.0


@dataclass(frozen=True)
class Timing:
    """How a kubelet waits; all in seconds."""

    crash_backoff: float = 10.0
    image_backoff: float = 10.0
    config_retry: float = 1.0
    wakes_on_config: bool = True


def build_containers(pod: Raw, timing: Timing) -> tuple[list[Container], list[Container]]:
    """The pod's init containers and sidecars, in order, and its main ones."""

    def build(spec: Raw, role: str) -> Container:
        crash = Backoff(timing.crash_backoff, first_is_free=True)
        return Container(spec, role, crash, Backoff(timing.image_backoff, first_is_free=False))

    inits = pod["spec"].get("initContainers") or []
    roles = ["sidecar" if each.get("restartPolicy") == "Always" else "init" for each in inits]
    return (
        [build(spec, role) for spec, role in zip(inits, roles, strict=True)],
        [build(spec, "main") for spec in pod["spec"]["containers"]],
    )


class Keeper:
    """Starts the containers of one pod."""

    def __init__(
        self, starter: Starter, prober: Prober, timing: Timing, wake: Callable[[], None]
    ) -> None:
        self._starter = starter
        self._prober = prober
        self._timing = timing
        self._wake = wake

    def keep_running(self, pod: Raw, container: Container) -> float | None:
        """Start the container unless it runs or has to wait; when to look again, if at all.

        Raises what an API server that does not answer raises.
        """
        if container.pull_error_until > clock.monotonic():  # woken, for the pod has changed
            return container.pull_error_until
        left = container.backoff.left_seconds(clock.monotonic())
        if left > 0:
            self._show_crash_loop(pod, container)
            return clock.monotonic() + left
        try:
            self._starter.start(pod, container, self._wake)
        except NotYet as cause:
            return self._note_waiting(pod, container, cause)
        except OSError as error:
            if error.filename is None:  # it is the API server that cannot be reached
                raise
            return self._note_waiting(pod, container, NotYet("CreateContainerError", str(error)))
        if not container.is_running:
            return clock.monotonic()
        self._prober.watch(pod, container)
        return None

    def _show_crash_loop(self, pod: Raw, container: Container) -> None:
        if "waiting" in container.state:
            return
        metadata = pod["metadata"]
        name = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        delay = go_duration(container.backoff.seconds)
        message = f"back-off {delay} restarting failed container={container.name} pod={name}"
        container.set_waiting("CrashLoopBackOff", message)
        text = f"Back-off restarting failed container {container.name} in pod {name}"
        self._starter.record(pod, container, "Warning", "BackOff", text)

    def _note_waiting(self, pod: Raw, container: Container, cause: NotYet) -> float:
        """Show why the container waits; when to try again."""
        now = clock.monotonic()
        is_new = (container.state.get("waiting") or {}).get("reason") != cause.reason
        container.set_waiting(cause.reason, str(cause))
        if cause.reason == "ErrImagePull":
            container.pull_error_until = now + PULL_ERROR_SECONDS
            return container.pull_error_until
        if cause.reason == "ImagePullBackOff":
            if is_new:
                self._starter.record(pod, container, "Normal", "BackOff", str(cause))
            return now + container.pull_backoff.left_seconds(now)
        if is_new:
            self._starter.record(pod, container, "Warning", "Failed", f"Error: {cause}")
        return now + self._timing.config_retry


def go_duration(seconds: float) -> str:
    """As Go prints it: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"
