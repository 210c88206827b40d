"""One container of a pod: its process, its status, and whether to restart it.

Only the pod's worker thread uses it, except that probe threads set `ready` and `started`, and read
`process`.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from localcluster.client.rest import Raw
from localcluster.machine import clock
from localcluster.node.pod.backoff import RestartBackoff
from localcluster.node.runtime.logs import LogFile, last_lines
from localcluster.node.runtime.runtime import End, Process

MESSAGE_BYTES = 4096
FALLBACK_LINES = 80
FALLBACK_BYTES = 2048
LOG_END_SECONDS = 2.0
NEVER_STARTED = "1970-01-01T00:00:00Z"
UNKNOWN_END: Raw = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}


def rfc3339(seconds: float) -> str:
    """Seconds since the epoch as the API writes times."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> float:
    """The inverse of rfc3339()."""
    return datetime.fromisoformat(text).timestamp()


@dataclass
class Container:
    """`role` is init, sidecar or main; `state` has one key: waiting, running or terminated."""

    spec: Raw
    role: str
    backoff: RestartBackoff
    pull_backoff: RestartBackoff
    state: Raw = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    last_state: Raw = field(default_factory=dict)
    restart_count: int = 0
    ready: bool = False
    started: bool = False
    container_id: str = ""
    image_id: str = ""
    process: Process | None = None
    log: LogFile | None = None
    scratch: Path | None = None
    started_at: float = 0.0
    pull_error: str = ""  # why the last pull failed
    pull_error_until: float = 0.0  # until then status shows the pull's error, then the back-off

    @property
    def name(self) -> str:
        """The container's name in the pod."""
        return str(self.spec["name"])

    @property
    def is_running(self) -> bool:
        """Whether its state is running: also after the process's end, until `collect_end`."""
        return "running" in self.state

    @property
    def exit_code(self) -> int | None:
        """The exit code of the run that has ended; None while the container runs or waits."""
        terminated = self.state.get("terminated")
        return None if terminated is None else int(terminated["exitCode"])

    @property
    def has_started_ever(self) -> bool:
        """Whether it was ever started, by this node process or an earlier one."""
        return "waiting" not in self.state or bool(self.last_state)

    def _enter(self, state: Raw) -> None:
        if "terminated" in self.state:
            self.last_state = self.state
        self.state = state

    def set_waiting(self, reason: str, message: str = "") -> None:
        """Set the state to waiting; a terminated state becomes `last_state`."""
        self._enter({"waiting": {"reason": reason} | ({"message": message} if message else {})})

    def set_running(self, process: Process, container_id: str) -> None:
        """Set the state to running, with this process."""
        self.process = process
        self.started_at = clock.now()
        self.container_id = container_id
        self._enter({"running": {"startedAt": rfc3339(self.started_at)}})
        self.started = "startupProbe" not in self.spec
        self.ready = self.started and "readinessProbe" not in self.spec

    def set_failed_start(self, reason: str, message: str, container_id: str) -> None:
        """Record that the program could not be executed."""
        self.container_id = container_id
        self._end(128, reason, message, 0.0)

    def collect_end(self) -> bool:
        """Set the state to terminated if the process has ended; False if there is no new end."""
        if not self.is_running or self.process is None or self.process.end is None:
            return False
        end = self.process.end
        if self.log is not None:
            self.log.complete.wait(LOG_END_SECONDS)
        self._end(end.exit_code, _reason(end), self._termination_message(end), self.started_at)
        return True

    def _end(self, exit_code: int, reason: str, message: str, started_at: float) -> None:
        now = clock.now()
        terminated: Raw = {
            "exitCode": exit_code,
            "reason": reason,
            "startedAt": rfc3339(started_at) if started_at else NEVER_STARTED,
            "finishedAt": rfc3339(now),
            "containerID": self.container_id,
        }
        if message:
            terminated["message"] = message
        self._enter({"terminated": terminated})
        self.process = None
        self.ready = self.role == "init" and exit_code == 0
        self.started = False
        self.backoff.failed(clock.monotonic(), now - started_at if started_at else 0.0)

    def _termination_message(self, end: End) -> str:
        try:
            assert self.scratch is not None
            with (self.scratch / "termination-log").open("rb") as file:
                message = file.read(MESSAGE_BYTES).decode(errors="replace")
        except OSError:
            message = ""
        policy = self.spec.get("terminationMessagePolicy")
        falls_back = policy == "FallbackToLogsOnError" and end.exit_code != 0
        if not message and falls_back and self.log is not None:
            return last_lines(self.log.path, FALLBACK_LINES, FALLBACK_BYTES)
        return message

    @property
    def field_path(self) -> str:
        """The path of its spec in the pod, such as spec.containers{main}, as in Events."""
        section = "containers" if self.role == "main" else "initContainers"
        return f"spec.{section}{{{self.name}}}"

    def should_restart(self, pod_policy: str) -> bool:
        """Whether the ended container should be started again."""
        policy = "Always" if self.role == "sidecar" else self.spec.get("restartPolicy", pod_policy)
        code = self.exit_code
        for rule in self.spec.get("restartPolicyRules") or []:
            codes = rule.get("exitCodes") or {}
            listed = code in (codes.get("values") or [])
            if listed == (codes.get("operator") == "In"):
                return bool(rule["action"] == "Restart")
        if self.role == "init":
            return policy != "Never" and code != 0
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def is_over(self, pod_policy: str) -> bool:
        """Whether it has ended and will not be started again."""
        return self.exit_code is not None and not self.should_restart(pod_policy)

    def status(self) -> Raw:
        """The container's entry in the pod's status."""
        return {
            "name": self.name,
            "image": self.spec["image"],
            "imageID": self.image_id,
            "containerID": self.container_id,
            "restartCount": self.restart_count,
            "ready": self.ready,
            "started": self.started and self.is_running,
            "state": self.state,
            "lastState": self.last_state,
        }

    def adopt(self, status: Raw) -> None:
        """Continue from the status that an earlier process of the node reported. A container that
        was running is recorded as terminated, with exit code 137, because its process is gone.
        """
        self.restart_count = status.get("restartCount", 0)
        self.image_id = status.get("imageID", "")
        self.container_id = status.get("containerID", "")
        self.last_state = status.get("lastState") or {}
        state = status.get("state") or {}
        if "terminated" in state:
            self.state = {"terminated": state["terminated"]}
            self.ready = self.role == "init" and self.exit_code == 0
        elif "running" in state or self.last_state:
            started = (state.get("running") or {}).get("startedAt", NEVER_STARTED)
            times = {"startedAt": started, "finishedAt": rfc3339(clock.now())}
            self.state = {"terminated": UNKNOWN_END | times | {"containerID": self.container_id}}


def build_containers(pod: Raw, backoff_seconds: float) -> tuple[list[Container], list[Container]]:
    """The pod's init containers and sidecars, in order, and its main ones."""

    def build(spec: Raw, role: str) -> Container:
        crash = RestartBackoff(backoff_seconds, first_is_free=True)
        return Container(spec, role, crash, RestartBackoff(backoff_seconds, first_is_free=False))

    inits = pod["spec"].get("initContainers") or []
    roles = ["sidecar" if each.get("restartPolicy") == "Always" else "init" for each in inits]
    return (
        [build(spec, role) for spec, role in zip(inits, roles, strict=True)],
        [build(spec, "main") for spec in pod["spec"]["containers"]],
    )


def _reason(end: End) -> str:
    if end.out_of_memory:
        return "OOMKilled"
    return "Completed" if end.exit_code == 0 else "Error"
