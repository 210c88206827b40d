"""Start one container: image, environment, mounts, process. Runs in the pod's worker thread."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from localcluster import clock
from localcluster.errors import LocalClusterError
from localcluster.images import Image, ImageTable, split_reference
from localcluster.node.client import Raw
from localcluster.node.containers import Container
from localcluster.node.env import DEFAULT_PATH, ConfigError, PodFacts, build_env
from localcluster.node.events import Recorder
from localcluster.node.expand import expand
from localcluster.node.logs import LogFile
from localcluster.node.objects import ApiObjects
from localcluster.node.protocol import ContainerSpec, Mount
from localcluster.node.quantity import parse_quantity
from localcluster.node.runtime import Runtime, StartFailed
from localcluster.node.volumes import VolumeError, Volumes

TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
CONTAINER_ID_SCHEME = "process://"


class NotYet(Exception):
    """The container cannot start now; `reason` is what its status waits with."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Waker(Protocol):
    """Called when a process has ended."""

    def __call__(self) -> None: ...


@dataclass(frozen=True)
class Machine:
    """What all pods of a node share."""

    runtime: Runtime
    objects: ApiObjects
    images: ImageTable
    events: Recorder
    api_host: str
    api_port: int


@dataclass(frozen=True)
class PodPlace:
    """Where one pod lives on the node."""

    folder: Path
    hostname: str
    facts: PodFacts

    @property
    def etc(self) -> Path:
        """The folder of the pod's own /etc/hosts and /etc/hostname."""
        return self.folder / "etc"

    def log_path(self, container: str, restart: int) -> Path:
        """The log of a container's run, counted from 0."""
        return self.folder / "logs" / container / f"{restart}.log"


class Starter:
    """Starts the containers of one pod."""

    def __init__(self, machine: Machine, place: PodPlace, volumes: Volumes) -> None:
        self._machine = machine
        self._place = place
        self._volumes = volumes

    def start(self, pod: Raw, container: Container, on_end: Waker) -> None:
        """Start it; raises NotYet when that has to wait. The container's state tells the rest."""
        image, folders = self._pull(pod, container)
        try:
            env = self._environment(pod, container, image, folders)
        except ConfigError as error:
            raise NotYet("CreateContainerConfigError", str(error)) from error
        if container.has_started_ever:
            container.restart_count += 1
        scratch = self._place.folder / "containers" / container.name / uuid4().hex
        scratch.mkdir(parents=True)
        (scratch / "termination-log").touch(0o666)
        container.scratch = scratch
        container.image_id = _image_id(image)
        spec = self._spec(container, image, env, folders)
        container.log = LogFile(self._place.log_path(container.name, container.restart_count))
        self._run(pod, container, spec, on_end)

    def _run(self, pod: Raw, container: Container, spec: ContainerSpec, on_end: Waker) -> None:
        identifier = CONTAINER_ID_SCHEME + hashlib.sha256(spec.scratch.encode()).hexdigest()
        assert container.log is not None
        self.record(pod, container, "Normal", "Created", f"Created container: {container.name}")
        try:
            process = self._machine.runtime.start(spec, container.log, on_end)
        except StartFailed as error:
            container.set_failed_start(error.reason, str(error), identifier)
            self.record(pod, container, "Warning", "Failed", f"Error: {error}")
            return
        container.set_running(process, identifier)
        self.record(pod, container, "Normal", "Started", f"Started container {container.name}")

    def record(self, pod: Raw, container: Container, kind: str, reason: str, message: str) -> None:
        """Record an Event about one container of the pod."""
        section = "containers" if container.role == "main" else "initContainers"
        path = f"spec.{section}{{{container.name}}}"
        self._machine.events.record(pod, kind, reason, message, path)

    def _pull(self, pod: Raw, container: Container) -> tuple[Image, list[Path]]:
        """Look the image up and make its environment. Raises NotYet."""
        name = container.spec["image"]
        if split_reference(name) is None:
            message = f'Failed to apply default image tag "{name}": invalid reference format'
            raise NotYet("InvalidImageName", message)
        if container.pull_backoff.left_seconds(clock.monotonic()) > 0:
            raise NotYet("ImagePullBackOff", f'Back-off pulling image "{name}"')
        try:
            image = self._machine.images.find(name)
            if container.spec.get("imagePullPolicy") == "Never" and not _is_present(image):
                message = f'Container image "{name}" is not present with pull policy of Never'
                raise NotYet("ErrImageNeverPull", message)
            if image is None:
                raise LocalClusterError(f'"{name}" is not in the image table')
            if image.is_present:
                text = f'Container image "{name}" already present on machine'
            else:
                self.record(pod, container, "Normal", "Pulling", f'Pulling image "{name}"')
                text = f'Successfully pulled image "{name}"'
            folders = image.prepare(print)
        except LocalClusterError as error:
            container.pull_backoff.failed(clock.monotonic())
            message = f'Failed to pull image "{name}": {error}'
            self.record(pod, container, "Warning", "Failed", message)
            raise NotYet("ErrImagePull", str(error)) from error
        self.record(pod, container, "Normal", "Pulled", text)
        return image, folders

    def _environment(
        self, pod: Raw, container: Container, image: Image, folders: list[Path]
    ) -> dict[str, str]:
        programs = image.programs(folders)
        image_env = {
            "PATH": f"{programs}:{DEFAULT_PATH}" if programs else DEFAULT_PATH,
            "HOME": "/root",
            "HOSTNAME": self._place.hostname,
        } | image.env
        machine = self._machine
        port = str(machine.api_port)
        service_env = {
            "KUBERNETES_SERVICE_HOST": machine.api_host,
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
            "KUBERNETES_PORT": f"tcp://{machine.api_host}:{port}",
        }
        facts = self._place.facts
        own = build_env(pod, container.spec, facts, machine.objects, service_env)
        return image_env | own

    def _spec(
        self,
        container: Container,
        image: Image,
        env: dict[str, str],
        folders: list[Path],
    ) -> ContainerSpec:
        spec = container.spec
        limit = ((spec.get("resources") or {}).get("limits") or {}).get("memory", 0)
        security = spec.get("securityContext") or {}
        assert container.scratch is not None
        return ContainerSpec(
            argv=command_line(spec, image, env),
            env=env,
            workdir=spec.get("workingDir") or image.workdir,
            hostname=self._place.hostname,
            scratch=str(container.scratch),
            mounts=self._mounts(container, image, env, folders),
            memory_limit_bytes=int(parse_quantity(limit)),
            read_only_root=bool(security.get("readOnlyRootFilesystem")),
            etc=str(self._place.etc),
        )

    def _mounts(
        self, container: Container, image: Image, env: dict[str, str], folders: list[Path]
    ) -> list[Mount]:
        try:
            mounts = self._volumes.mounts(container.spec, env)
        except VolumeError as error:
            raise NotYet("CreateContainerConfigError", str(error)) from error
        if not self._machine.runtime.isolated:
            # Without mount namespaces: what a pod asked for itself fails at its start.
            return [mount for mount in mounts if mount.target != TOKEN_FOLDER]
        own = [Mount(str(folder), str(folder), if_hidden=True) for folder in folders]
        own += [Mount(str(folder), path, overlay=True) for path, folder in image.folders.items()]
        message_path = container.spec.get("terminationMessagePath") or "/dev/termination-log"
        own.append(Mount(f"{container.scratch}/termination-log", message_path))
        return own + mounts


def command_line(spec: Raw, image: Image, env: dict[str, str]) -> list[str]:
    """`command` takes the place of all that the image says, `args` that of its arguments."""
    command, args = spec.get("command"), spec.get("args")
    words = [*command, *(args or [])] if command else [*image.command, *(args or image.args)]
    given = [expand(word, env) for word in words]
    return given or ["sh"]


def _is_present(image: Image | None) -> bool:
    return image is not None and image.is_present


def _image_id(image: Image) -> str:
    digest = hashlib.sha256(f"{image.name} {image.folders}".encode()).hexdigest()
    return f"{image.name}@sha256:{digest}"
