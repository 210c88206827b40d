"""One pod on the node: a thread that runs the pod from its sandbox to its end.

A new version of the pod, the end of a process, a probe or a deadline wakes the thread, which then
reads the current state and takes the next step. A new status alone does not wake it, as in a
kubelet. Apart from probes, only this thread changes the containers. When it ends, no process of the
pod is left.
"""

import contextlib
import socket
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kube.errors import ApiError, Conflict, NotFound
from localcluster.client.rest import Raw
from localcluster.machine import clock
from localcluster.node.network.hosts import HostsFile, build_head
from localcluster.node.pod.containers import Container, build_containers, seconds_of
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.pod.probes import Prober
from localcluster.node.pod.starter import Sandbox, Starter
from localcluster.node.pod.status import TERMINAL, StatusWriter, decide_phase, delete_pod, pod_path
from localcluster.node.pod.stopper import Stopper
from localcluster.node.runtime.podnetwork import build_resolver
from localcluster.node.runtime.runtime import Process, StartFailed
from localcluster.node.volume.tokens import Tokens
from localcluster.node.volume.volumes import VolumeError, Volumes

API_RETRY_SECONDS = 1.0
DEFAULT_GRACE_SECONDS = 30.0
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"
UNEXPECTED_RETRY_SECONDS = 5.0
SANDBOX_RETRY_SECONDS = 1.0
VOLUME_RETRY_SECONDS = 1.0
# The folders of a pod to remove when it has ended; its logs stay until it is deleted.
WORK_FOLDERS = ("containers", "volumes", "etc")


class PodGone(Exception):
    """The pod is no longer in the API server, or another one has its name."""


class PodWorker:
    """Runs one pod, in a thread of its own. Any thread can call the public methods."""

    def __init__(
        self,
        pod: Raw,
        sandbox: Sandbox,
        node: NodeContext,
        on_finish: Callable[["PodWorker"], None],
    ) -> None:
        self._sandbox = sandbox
        self._node = node
        self._on_finish = on_finish
        self.newest = pod  # the last version from the informer
        self._pod = pod
        self._wakeup = threading.Event()
        self._abandoned = threading.Event()
        self._inits, self._mains = build_containers(pod, node.config.backoff_seconds)
        self._volumes = Volumes(
            pod,
            sandbox.folder / "volumes",
            node.config,
            node.runtime,
            node.client,
            sandbox.facts,
            Tokens(node.client, pod),
        )
        self._prober = Prober(node, sandbox.facts.pod_ip, self.wake)
        self._starter = Starter(node, sandbox, self._volumes, self._prober, self.wake)
        self._stopper = Stopper(node, self._pause)
        self._status = StatusWriter(node.client, pod, self._inits, self._mains)
        self._has_sandbox = False
        self._sandbox_error = ""
        self._volumes_ready = False
        self._initialized = False
        self._look_again = 0.0
        self._refresh_wanted = False
        self._adopt(pod.get("status") or {})

    def _adopt(self, status: Raw) -> None:
        known = {
            each["name"]: each
            for section in ("initContainerStatuses", "containerStatuses")
            for each in status.get(section) or []
        }
        for container in self._all:
            if container.name in known:
                container.adopt(known[container.name])

    @property
    def _all(self) -> list[Container]:
        return [*self._inits, *self._mains]

    @property
    def _policy(self) -> str:
        return str(self._pod["spec"].get("restartPolicy") or "Always")

    @property
    def address(self) -> str:
        """The pod's IP address."""
        return self._sandbox.facts.pod_ip

    def process_of(self, container: str) -> Process | None:
        """The process of a container; None if the container does not run or does not exist."""
        return next((each.process for each in self._all if each.name == container), None)

    def connect(self, port: int) -> socket.socket:
        """Connect to a port on the pod's loopback interface, or at its address if it has no network
        namespace. Raises OSError.
        """
        host = "127.0.0.1" if self._node.has_network(self._pod) else self.address
        return self._node.connect(self._pod, (host, port))

    def is_log_complete(self, path: Path) -> bool:
        """Whether nothing more will be written to this log."""
        logs = [each.log for each in self._all if each.log is not None]
        return not any(log.path == path and not log.complete.is_set() for log in logs)

    def update(self, pod: Raw) -> None:
        """Store a new version of the pod; wake the thread if the node has to act."""
        before, self.newest = self.newest, pod
        if _asked_of(pod) != _asked_of(before):
            self.wake()

    def wake(self) -> None:
        """Make the thread check the pod again."""
        self._wakeup.set()

    def config_map_changed(self, namespace: str, name: str) -> None:
        """If a volume has files of this ConfigMap, have the thread update the volumes."""
        if namespace != self._pod["metadata"]["namespace"]:
            return
        if self._volumes_ready and self._volumes.shows_config_map(name):
            self._refresh_wanted = True
            self.wake()

    def abandon(self) -> None:
        """Have the thread kill a pod that is no longer in the API server; write no status."""
        self._abandoned.set()
        self.wake()

    def start(self) -> None:
        """Start the pod's thread."""
        name = f"pod {self._pod['metadata']['name']}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self._live()
        except PodGone:
            pass
        finally:
            self._stopper.kill(self._all)
            self._node.runtime.leave_network(self._pod["metadata"]["uid"])
            self._node.hosts.remove_file(self._pod["metadata"]["uid"])
            paths = [self._sandbox.folder / name for name in WORK_FOLDERS]
            self._node.runtime.remove(paths, self._volumes.memory_volumes)
            self._on_finish(self)

    def _live(self) -> None:
        while True:
            self._pod = self._volumes.pod = self.newest
            if "deletionTimestamp" in self._pod["metadata"]:
                self._end_deleted()
                return
            self._look_again = clock.monotonic() + 3600.0
            with self._retrying():
                self._step()
                if self._write_status() in TERMINAL:
                    return
            self._pause(self._look_again)

    def _pause(self, until: float) -> None:
        """Wait for a wake-up until this deadline. Raises PodGone."""
        self._wakeup.wait(max(0.0, until - clock.monotonic()))
        self._wakeup.clear()
        if self._abandoned.is_set():
            raise PodGone

    @contextlib.contextmanager
    def _retrying(self) -> Any:
        """Retry soon after an error. Raises PodGone if the pod is no longer in the API server."""
        try:
            yield
        except ApiError as error:
            if isinstance(error, NotFound | Conflict) and self._is_gone():
                raise PodGone from error
            if error.code:  # the server has answered
                print(f"{pod_path(self._pod)}: {error}", flush=True)
            self._look_at(clock.monotonic() + API_RETRY_SECONDS)
        except OSError:
            self._look_at(clock.monotonic() + API_RETRY_SECONDS)
        except PodGone:
            raise
        except Exception:  # the thread must not end while the pod's processes run
            traceback.print_exc()
            self._look_at(clock.monotonic() + UNEXPECTED_RETRY_SECONDS)

    def _is_gone(self) -> bool:
        try:
            found = self._node.client.find(pod_path(self._pod))
        except ApiError:
            return False
        return found is None or bool(found["metadata"]["uid"] != self._pod["metadata"]["uid"])

    def _look_at(self, moment: float) -> None:
        self._look_again = min(self._look_again, moment)

    # -- the steps of a pod's life -------------------------------------------------------------

    def _step(self) -> None:
        if any(each.should_restart(self._policy) for each in self._collect_ends()):
            self._write_status()  # a kubelet shows each end before it starts a container again
        if self._is_past_deadline():
            self._fail("DeadlineExceeded", DEADLINE_MESSAGE)
            return
        if not self._has_sandbox and not self._make_sandbox():
            return
        if not self._make_volumes():
            return
        if self._run_inits():
            for main in self._mains:
                self._keep_running(main)
            if self._is_ending():
                self._stop_sidecars()
        elif decide_phase(self._inits, self._mains, self._policy) == "Failed":
            self._stop_sidecars()
        self._refresh_volumes()

    def _make_sandbox(self) -> bool:
        if error := self._make_network():
            self._look_at(clock.monotonic() + SANDBOX_RETRY_SECONDS)
            if error != self._sandbox_error:
                message = f"Failed to create pod sandbox: {error}"
                self._node.events.record(self._pod, "Warning", "FailedCreatePodSandBox", message)
        if error != self._sandbox_error:
            self._sandbox_error = error
            for container in self._all:
                container.set_waiting("ContainerCreating", error)
        if not error:
            self._name_sandbox()
        return not error

    def _make_network(self) -> str:
        """Create the pod's network namespace; if pods share the machine's network, ask whether the
        pod's job can use it. Return why the pod has to wait, or "".
        """
        pod, network = self._pod, self._node.network
        if network is None:
            return self._node.turn.take(pod)
        if self._node.has_network(pod):
            uid, address = pod["metadata"]["uid"], self._sandbox.facts.pod_ip
            try:
                self._node.runtime.make_network(uid, address, network.open())
            except (StartFailed, OSError) as error:
                return str(error)
        return ""

    def _name_sandbox(self) -> None:
        sandbox, pod = self._sandbox, self._pod
        sandbox.etc.mkdir(parents=True, exist_ok=True)
        (sandbox.etc / "hostname").write_text(sandbox.hostname + "\n")
        if self._node.has_network(pod):
            (sandbox.etc / "resolv.conf").write_text(build_resolver())
        api_host = self._node.api_server(pod)[0]
        head = build_head(pod, sandbox.facts.pod_ip, sandbox.hostname, api_host)
        file = HostsFile(sandbox.etc / "hosts", pod["metadata"]["namespace"], head)
        self._node.hosts.add_file(pod["metadata"]["uid"], file)
        self._has_sandbox = True
        if self._inits:
            for each in self._all:  # also init containers, so that kubectl prints Init:0/1
                if not each.has_started_ever:
                    each.set_waiting("PodInitializing")
        self._write_status()

    def _collect_ends(self) -> list[Container]:
        """Note and return the containers that have ended."""
        ended = [container for container in self._all if container.collect_end()]
        for container in ended:
            if container.scratch is not None:
                self._node.runtime.remove([container.scratch], [])
        return ended

    def _is_past_deadline(self) -> bool:
        seconds = self._pod["spec"].get("activeDeadlineSeconds")
        if seconds is None or self._status.verdict:
            return False
        left = seconds_of(self._status.start_time) + seconds - clock.now()
        self._look_at(clock.monotonic() + left)
        return bool(left <= 0)

    def _fail(self, reason: str, message: str) -> None:
        self._stopper.stop(self._pod, self._inits, self._mains, self._own_grace)
        self._collect_ends()
        self._status.verdict = {"phase": "Failed", "reason": reason, "message": message}

    def _make_volumes(self) -> bool:
        if self._volumes_ready:
            return True
        try:
            self._volumes.prepare()
            self._volumes_ready = True
            return True
        except (VolumeError, NotFound, OSError) as error:
            message = str(error)
        self._node.events.record(self._pod, "Warning", "FailedMount", message)
        self._look_at(clock.monotonic() + VOLUME_RETRY_SECONDS)
        return False

    def _refresh_volumes(self) -> None:
        if self._refresh_wanted or clock.monotonic() >= self._volumes.tokens.renew_at:
            self._refresh_wanted = False
            with contextlib.suppress(VolumeError):
                self._volumes.refresh()
        self._look_at(self._volumes.tokens.renew_at)

    def _run_inits(self) -> bool:
        """Run the init containers in order; True when the main containers can start."""
        for container in self._inits:
            if container.role == "sidecar":
                if not self._is_ending():
                    self._keep_running(container)
                if not container.started and not self._initialized:
                    return False
            elif not self._initialized and container.exit_code != 0:
                self._keep_running(container)
                return False
        if not self._initialized:
            self._initialized = True
            for main in self._mains:
                if not main.has_started_ever:
                    main.set_waiting("ContainerCreating")
        return True

    def _stop_sidecars(self) -> None:
        if any(each.is_running for each in self._inits):
            # Report the end of the main containers before that of the sidecars.
            self._write_status()
            self._stopper.stop(self._pod, self._inits, [], self._own_grace)
            self._collect_ends()

    def _is_ending(self) -> bool:
        return all(main.is_over(self._policy) for main in self._mains)

    def _keep_running(self, container: Container) -> None:
        if container.is_running or container.is_over(self._policy):
            return
        moment = self._starter.keep_running(self._pod, container)
        if moment is not None:
            self._look_at(moment)

    # -- its end ---------------------------------------------------------------------------------

    def _end_deleted(self) -> None:
        self._stopper.stop(self._pod, self._inits, self._mains, self._deletion_grace)
        self._collect_ends()
        for container in self._all:
            if container.exit_code is None:
                container.ready = False
        while True:
            self._look_again = clock.monotonic()
            with self._retrying():
                self._write_status(is_deleted=True)
                delete_pod(self._node.client, self._pod)
                return
            self._pause(clock.monotonic() + API_RETRY_SECONDS)

    def _write_status(self, is_deleted: bool = False) -> str:
        return self._status.write(self._pod, self._sandbox.facts, is_deleted)

    def _deletion_grace(self) -> float:
        """The grace period of the newest version of the pod: a second deletion can shorten it."""
        return float(self.newest["metadata"].get("deletionGracePeriodSeconds") or 0)

    def _own_grace(self) -> float:
        seconds = self._pod["spec"].get("terminationGracePeriodSeconds")
        return DEFAULT_GRACE_SECONDS if seconds is None else float(seconds)


def _asked_of(pod: Raw) -> tuple[object, ...]:
    """The parts of a pod whose change requires the node to act."""
    parts = ("labels", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
    return (pod["spec"], *(pod["metadata"].get(part) for part in parts))
