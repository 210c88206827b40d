"""Starts containers that should run but do not: image, environment, mounts, process.

Owned by the pod's worker thread.
"""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from localcluster.client.rest import Raw
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.report import tell
from localcluster.node.pod.backoff import go_duration
from localcluster.node.pod.containers import Container
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.pod.probes import Prober
from localcluster.node.runtime.logs import LogFile
from localcluster.node.runtime.protocol import ContainerSpec, Mount
from localcluster.node.runtime.runtime import StartFailed
from localcluster.node.spec.env import DEFAULT_PATH, PodFacts, build_env, expand
from localcluster.node.spec.objects import ConfigError
from localcluster.node.spec.quantity import parse_quantity
from localcluster.node.volume.volumes import VolumeError, Volumes
from localcluster.provision.environments import write_protect
from localcluster.provision.images import Image, repository_of, stand_in

TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
CONTAINER_ID_SCHEME = "process://"
# How long the status shows a failed pull before it shows the back-off.
PULL_ERROR_SECONDS = 1.0
PRESENT = "on machine and can be accessed by the pod"


class NotYet(StartFailed):
    """The container cannot start yet; `reason` is the reason of its waiting state."""


@dataclass(frozen=True)
class Sandbox:
    """The part of a pod that its containers share: its folder on the node, its hostname and
    addresses.
    """

    folder: Path
    hostname: str
    facts: PodFacts

    @property
    def etc(self) -> Path:
        """The folder of the pod's own /etc/hosts, hostname and, if it has one, resolv.conf."""
        return self.folder / "etc"

    def log_path(self, container: str, restart: int) -> Path:
        """The log of one of a container's runs, which are counted from 0."""
        return self.folder / "logs" / container / f"{restart}.log"


@dataclass(frozen=True)
class Starter:
    """Starts the containers of one pod; `on_end` is called when the process of one has ended."""

    node: NodeContext
    sandbox: Sandbox
    volumes: Volumes
    prober: Prober
    on_end: Callable[[], None]

    def keep_running(self, pod: Raw, container: Container) -> float | None:
        """Start a container, unless it must wait. Return when to try again, on the monotonic
        clock; None if the container has started. Raises ApiError.
        """
        if container.pull_error_until > clock.monotonic():  # woken early, as the pod has changed
            return container.pull_error_until
        left = container.backoff.left_seconds(clock.monotonic())
        if left > 0:
            self._show_crash_loop(pod, container)
            return clock.monotonic() + left
        try:
            self._start(pod, container)
        except NotYet as cause:
            return self._note_waiting(pod, container, cause)
        except OSError as error:
            return self._note_waiting(pod, container, NotYet("CreateContainerError", str(error)))
        if not container.is_running:
            return clock.monotonic()
        self.prober.watch(pod, container)
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
        self._record(pod, container, "Warning", "BackOff", text)

    def _note_waiting(self, pod: Raw, container: Container, cause: NotYet) -> float:
        """Set the waiting state and write an Event; return when to retry."""
        now = clock.monotonic()
        is_new = (container.state.get("waiting") or {}).get("reason") != cause.reason
        container.set_waiting(cause.reason, str(cause))
        if cause.reason == "ErrImagePull":
            container.pull_error_until = now + PULL_ERROR_SECONDS
            return container.pull_error_until
        if cause.reason == "ImagePullBackOff":
            if is_new:
                self._record(pod, container, "Normal", "BackOff", str(cause))
            return now + container.pull_backoff.left_seconds(now)
        if is_new:
            self._record(pod, container, "Warning", "Failed", f"Error: {cause}")
        return now + self.node.config.config_retry_seconds * random.uniform(1.0, 1.5)

    def _start(self, pod: Raw, container: Container) -> None:
        """Start the container and set its state. Raises NotYet if it has to wait."""
        image, folders = self._pull(pod, container)
        try:
            env = self._environment(pod, container, image, folders)
        except ConfigError as error:
            raise NotYet("CreateContainerConfigError", str(error)) from error
        if container.has_started_ever:
            container.restart_count += 1
        scratch = self.sandbox.folder / "containers" / container.name / uuid4().hex
        scratch.mkdir(parents=True)
        (scratch / "termination-log").touch(0o666)
        container.scratch = scratch
        container.image_id = _image_id(image)
        spec = self._spec(pod, container, image, env, folders)
        container.log = LogFile(self.sandbox.log_path(container.name, container.restart_count))
        self._run(pod, container, spec)

    def _run(self, pod: Raw, container: Container, spec: ContainerSpec) -> None:
        identifier = CONTAINER_ID_SCHEME + hashlib.sha256(spec.scratch.encode()).hexdigest()
        assert container.log is not None
        self._record(pod, container, "Normal", "Created", "Container created")
        try:
            process = self.node.runtime.start(spec, container.log, self.on_end)
        except StartFailed as error:
            container.set_failed_start(error.reason, str(error), identifier)
            self._record(pod, container, "Warning", "Failed", f"Error: {error}")
            return
        container.set_running(process, identifier)
        self._record(pod, container, "Normal", "Started", "Container started")

    def _record(self, pod: Raw, container: Container, kind: str, reason: str, message: str) -> None:
        self.node.events.record(pod, kind, reason, message, container.field_path)

    def _pull(self, pod: Raw, container: Container) -> tuple[Image, list[Path]]:
        """Find the image and install its packages. Raises NotYet."""
        name = container.spec["image"]
        if repository_of(name) is None:
            message = f'Failed to apply default image tag "{name}": invalid reference format'
            raise NotYet("InvalidImageName", message)
        if container.pull_backoff.left_seconds(clock.monotonic()) > 0:
            message = f'Back-off pulling image "{name}": ErrImagePull: {container.pull_error}'
            raise NotYet("ImagePullBackOff", message)
        try:
            image = self.node.images.find(name)
            if container.spec.get("imagePullPolicy") == "Never" and not (
                image and image.is_present
            ):
                message = f'Container image "{name}" is not present with pull policy of Never'
                raise NotYet("ErrImageNeverPull", message)
            if image is None:
                raise LocalClusterError(self.node.images.missing(name))
            if image.is_present:
                text = f'Container image "{name}" already present {PRESENT}'
            else:
                self._record(pod, container, "Normal", "Pulling", f'Pulling image "{name}"')
                text = f'Successfully pulled image "{name}"'
            folders = image.prepare(tell)
        except LocalClusterError as error:
            container.pull_backoff.failed(clock.monotonic())
            container.pull_error = str(error)
            message = f'Failed to pull image "{name}": {error}'
            self._record(pod, container, "Warning", "Failed", message)
            raise NotYet("ErrImagePull", str(error)) from error
        self._record(pod, container, "Normal", "Pulled", text)
        if told := stand_in(name, image):
            self._record(pod, container, "Normal", "StandIn", told)
        return image, folders

    def _environment(
        self, pod: Raw, container: Container, image: Image, folders: list[Path]
    ) -> dict[str, str]:
        programs = image.programs(folders)
        image_env = {
            "PATH": f"{programs}:{DEFAULT_PATH}" if programs else DEFAULT_PATH,
            "HOME": "/root",
            "HOSTNAME": self.sandbox.hostname,
        } | image.env
        host, number = self.node.api_server(pod)
        port = str(number)
        service_env = {
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
            "KUBERNETES_PORT": f"tcp://{host}:{port}",
        }
        facts = self.sandbox.facts
        own = build_env(pod, container.spec, facts, self.node.client, service_env)
        return image_env | own

    def _spec(
        self, pod: Raw, container: Container, image: Image, env: dict[str, str], folders: list[Path]
    ) -> ContainerSpec:
        spec = container.spec
        limit = ((spec.get("resources") or {}).get("limits") or {}).get("memory", 0)
        security = spec.get("securityContext") or {}
        assert container.scratch is not None
        return ContainerSpec(
            argv=command_line(spec, image, env),
            env=env,
            workdir=spec.get("workingDir") or image.workdir,
            hostname=self.sandbox.hostname,
            scratch=str(container.scratch),
            mounts=self._mounts(container, image, env, folders),
            memory_limit_bytes=int(parse_quantity(limit)),
            read_only_root=bool(security.get("readOnlyRootFilesystem")),
            etc=str(self.sandbox.etc),
            network=pod["metadata"]["uid"] if self.node.has_network(pod) else "",
        )

    def _mounts(
        self, container: Container, image: Image, env: dict[str, str], folders: list[Path]
    ) -> list[Mount]:
        try:
            mounts = self.volumes.mounts(container.spec, env)
        except VolumeError as error:
            raise NotYet("CreateContainerConfigError", str(error)) from error
        if not self.node.runtime.isolated:
            if image.keeps_environment:
                for folder in folders[:-1]:
                    write_protect(folder)
            # Without mount namespaces the token is left out; any other mount fails at the start.
            return [mount for mount in mounts if mount.target != TOKEN_FOLDER]
        own = [Mount(str(folder), str(folder), if_hidden=True) for folder in folders]
        if image.keeps_environment:  # read-only, except the last, the machine's Python
            own[:-1] = [Mount(str(each), str(each), read_only=True) for each in folders[:-1]]
        own += [Mount(str(folder), path, overlay=True) for path, folder in image.folders.items()]
        message_path = container.spec.get("terminationMessagePath") or "/dev/termination-log"
        own.append(Mount(f"{container.scratch}/termination-log", message_path))
        return own + mounts


def command_line(spec: Raw, image: Image, env: dict[str, str]) -> list[str]:
    """`command` replaces the image's command and arguments, `args` its arguments only."""
    command, args = spec.get("command"), spec.get("args")
    words = [*command, *(args or [])] if command else [*image.command, *(args or image.args)]
    given = [expand(word, env) for word in words]
    return given or ["sh"]


def _image_id(image: Image) -> str:
    digest = hashlib.sha256(f"{image.name} {image.folders}".encode()).hexdigest()
    return f"{image.name}@sha256:{digest}"
