"""The node's side of the spawner: start a container, run a command in one, send it a signal.

Any thread can call these methods. Each started process has a Process object, which reports its end;
a thread of the runtime reads the spawner's messages. When the spawner dies, all containers die with
it: `on_death` is called, and the node must end.
"""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.project import FINDABLE, command
from localcluster.node.runtime.logs import LogFile, LogPump
from localcluster.node.runtime.protocol import ContainerSpec, receive, send


class StartFailed(Exception):
    """A program could not be started; `reason` is for the container's status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class End:
    """How a process ended; `exit_code` is 128 + n after signal n."""

    exit_code: int
    out_of_memory: bool


class Process:
    """A started container or command. `end` is None until it has ended; then `ended` is set."""

    def __init__(self, identifier: str, on_end: Callable[[], None]) -> None:
        self.identifier = identifier
        self.end: End | None = None
        self.ended = threading.Event()
        self._on_end = on_end

    def set_end(self, end: End) -> None:
        """Store how the process ended; only the runtime's thread calls this, and only once."""
        self.end = end
        self.ended.set()
        self._on_end()


class Runtime:
    """The containers of one node. `isolated` says whether the machine allows namespaces, and
    `network` is the process of the pods' network, or 0.
    """

    def __init__(self, on_death: Callable[[], None], network: int = 0) -> None:
        self._on_death = on_death
        self._lock = threading.Lock()  # guards _processes and sending
        self._processes: dict[str, Process] = {}
        self._ids = itertools.count(1)
        self._pump = LogPump()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._spawner = _start_spawner(theirs, network)
        greeting, _ = receive(self._channel)
        if greeting is None:
            raise RuntimeError("the spawner died at its start")
        self.isolated = bool(greeting["isolated"])
        self._pump.start()
        threading.Thread(target=self._listen, name="runtime", daemon=True).start()

    def start(self, spec: ContainerSpec, log: LogFile, on_end: Callable[[], None]) -> Process:
        """Start a container and return when its program runs. Raises StartFailed."""
        process = self._new_process(on_end)
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        report_read, report_write = os.pipe()
        self._pump.add(log, out_read, err_read)
        descriptors = [out_write, err_write, report_write]
        limit, file = spec.memory_limit_bytes, spec.write()
        more = {"spec": file, "memory_limit_bytes": limit, "network": spec.network}
        self._send("start", descriptors, id=process.identifier, **more)
        _wait_started(report_read)
        return process

    def make_network(self, name: str, address: str, bridge: int) -> None:
        """Create a pod's network namespace, unless it exists; `name` is the pod's UID. Closes
        `bridge`, a descriptor of the bridge's namespace. Raises StartFailed.
        """
        report_read, report_write = os.pipe()
        self._send("network", [bridge, report_write], network=name, address=address)
        _wait_started(report_read)

    def leave_network(self, name: str) -> None:
        """Release a pod's network namespace; the kernel removes it when its last process ends."""
        with contextlib.suppress(StartFailed):  # the spawner is gone, and every network with it
            self._send("leave", network=name)

    def run(self, container: Process, argv: list[str], timeout_seconds: float) -> tuple[int, bytes]:
        """Run a command in a container; return its exit code and output. The command blocks if it
        writes more than 64 KiB. Raises StartFailed; TimeoutError after killing the command.
        """
        out_read, out_write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        process, report_read = self.exec(container, argv, [null, out_write, out_write])
        os.close(report_read)
        try:
            if not process.ended.wait(timeout_seconds):
                self.kill(process, signal.SIGKILL)
                command = " ".join(argv)
                said = f'command timed out: "{command}" timed out after {timeout_seconds:g}s'
                raise TimeoutError(said)
            os.set_blocking(out_read, False)
            output = b""
            with contextlib.suppress(BlockingIOError):
                output = os.read(out_read, 65536)
            return process.end.exit_code if process.end else 126, output
        finally:
            os.close(out_read)

    def exec(self, container: Process, argv: list[str], streams: list[int]) -> tuple[Process, int]:
        """Start a command in a container, and close `streams`, its stdin, stdout and stderr, here.

        Also returns a descriptor to read. It yields the error if the command cannot be started,
        else nothing, and is at its end when the command has ended. Raises StartFailed.
        """
        process = self._new_process(lambda: None)
        report_read, report_write = os.pipe()
        where = container.identifier
        pipes = [*streams, report_write]
        self._send("exec", pipes, id=process.identifier, container=where, argv=argv)
        return process, report_read

    def open_socket(self, network: str) -> socket.socket:
        """A new socket in a pod's network namespace. Raises OSError or StartFailed."""
        ours, theirs = socket.socketpair()
        with ours:
            self._send("socket", [theirs.detach()], network=network)
            message, descriptors = receive(ours)
        if message is None:
            raise OSError("the pod has no network")
        return socket.socket(fileno=descriptors[0])

    def kill(self, process: Process, number: int) -> None:
        """Send a signal to a container's program; SIGKILL kills all processes of the container."""
        with contextlib.suppress(StartFailed):  # the spawner is gone, and every process with it
            self._send("kill", id=process.identifier, signal=int(number))

    def mount_tmpfs(self, path: Path, size_bytes: int) -> None:
        """Mount an emptyDir of medium Memory; 0 means no limit. Raises StartFailed."""
        self._send("tmpfs", path=str(path), size_bytes=size_bytes)

    def remove(self, paths: list[Path], memory_volumes: list[Path]) -> None:
        """Unmount memory volumes and delete folders, in the background. Raises StartFailed."""
        self._send("remove", paths=[*map(str, paths)], unmount=[*map(str, memory_volumes)])

    def close(self) -> None:
        """End every container and the spawner."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._spawner.wait()

    def _new_process(self, on_end: Callable[[], None]) -> Process:
        process = Process(str(next(self._ids)), on_end)
        with self._lock:
            self._processes[process.identifier] = process
        return process

    def _send(self, op: str, descriptors: Sequence[int] = (), **message: object) -> None:
        """Send the spawner a request and close the descriptors."""
        try:
            with self._lock:
                send(self._channel, {"op": op, **message}, descriptors)
        except OSError as error:
            raise StartFailed("StartError", f"the node is ending: {error}") from error
        finally:
            for descriptor in {*descriptors}:
                os.close(descriptor)

    def _listen(self) -> None:
        while True:
            try:
                message, _ = receive(self._channel)
            except OSError:
                message = None
            if message is None:
                self._on_death()
                return
            with self._lock:
                process = self._processes.pop(message["id"], None)
            if process is not None:
                process.set_end(End(message["exit"], message["oom"]))


def _start_spawner(channel: socket.socket, network: int) -> subprocess.Popen[bytes]:
    words = ("localcluster.node.runtime.spawner", str(channel.fileno()), str(network))
    arguments = command(*words)
    return subprocess.Popen(
        arguments,
        pass_fds=[channel.fileno()],
        env=os.environ | FINDABLE,
        stdin=subprocess.DEVNULL,
        cwd="/",
    )


def _wait_started(report: int) -> None:
    """Wait until the pipe is closed, which means that the program runs. Raises StartFailed if an
    error was written to the pipe.
    """
    with os.fdopen(report, "rb") as file:
        answer = file.read()
    if answer:
        failure = json.loads(answer.splitlines()[0])
        raise StartFailed(failure["reason"], failure["message"])
