"""The process that forks every container of a node: first process of the node's PID namespace.

A program of its own, single-threaded, so that forking and changing namespaces is safe and cheap: a
container starts as a copy of this small process. It takes requests from the node over a socket and
tells of each end. It dies with the node (end of the socket, parent-death signal), and the kernel
then kills every container. Where the machine allows no namespaces, containers are plain process
trees: `isolated` in the greeting says so.

    python -m localcluster.node.runtime.spawner <socket descriptor>
"""

import contextlib
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from localcluster import clock
from localcluster.guard import die_with_parent, exit_code
from localcluster.node.runtime import linux
from localcluster.node.runtime.container_init import exec_program, run_init
from localcluster.node.runtime.memory import Watchdog
from localcluster.node.runtime.protocol import receive, send


class Spawner:
    """Children by id. An id is in `_children` from its fork until its end has been told."""

    def __init__(self, channel: socket.socket, isolated: bool) -> None:
        self._channel = channel
        self._isolated = isolated
        self._children: dict[str, int] = {}
        self._own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY) if isolated else -1
        self._watchdog = Watchdog()

    def serve(self) -> None:
        """Answer until the node is gone."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        selector = selectors.DefaultSelector()
        selector.register(self._channel, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(self._watchdog.interval_seconds):
                if key.fileobj == wake_read:
                    os.read(wake_read, 4096)
                elif not self._take_request():
                    return
            self._reap()
            self._watchdog.check(clock.monotonic())

    def _take_request(self) -> bool:
        message, descriptors = receive(self._channel)
        if message is None:
            return False
        handlers = {
            "start": self._start,
            "exec": self._exec,
            "kill": self._kill,
            "tmpfs": self._mount_tmpfs,
            "remove": self._remove,
        }
        try:
            handlers[message["op"]](message, descriptors)
        except OSError:  # no process or memory left: that container has ended, the others live
            self._tell_end(message.get("id", ""), 128, False)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _start(self, message: dict[str, Any], descriptors: list[int]) -> None:
        child = self._fork_isolated() if self._isolated else os.fork()
        if child == 0:
            self._become_child()
            run_init(message["spec"], descriptors, self._isolated)
        self._children[message["id"]] = child
        if message["memory_limit_bytes"]:
            self._watchdog.watch(child, message["memory_limit_bytes"])

    def _fork_isolated(self) -> int:
        """Fork a child that is the first process of a new PID namespace."""
        linux.unshare(linux.CLONE_NEWPID)
        child = -1
        try:
            child = os.fork()
        finally:
            if child != 0:  # later children are to be born in the spawner's own namespace again
                linux.setns(self._own_namespace, linux.CLONE_NEWPID)
        return child

    def _become_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent(os.getppid())
        self._channel.close()

    def _exec(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Run one more program in a container: descriptors are stdout and the start error's."""
        container = self._children.get(message["container"])
        if container is None:
            self._tell_end(message["id"], 126, False)
            return
        child = os.fork()
        if child == 0:
            self._become_child()
            self._run_exec(container, message, descriptors)
        self._children[message["id"]] = child

    def _run_exec(
        self, container: int, message: dict[str, Any], descriptors: list[int]
    ) -> NoReturn:
        """Join the container's namespaces; a second fork is needed to join its PID namespace."""
        out, report = descriptors
        status = 126
        with contextlib.suppress(OSError):
            environment = _environment_of(container)
            if self._isolated:
                _join(container)
            child = os.fork()
            if child == 0:
                exec_program(message["argv"], environment, out, out, report)
            status = exit_code(os.waitpid(child, 0)[1])
        os._exit(status)

    def _kill(self, message: dict[str, Any], _: list[int]) -> None:
        child = self._children.get(message["id"])
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, message["signal"])

    def _mount_tmpfs(self, message: dict[str, Any], _: list[int]) -> None:
        """A memory volume: mounted here, where every container inherits it and the host does not.

        Without namespaces it stays a folder on the disk.
        """
        if self._isolated:
            size = message["size_bytes"]
            options = f"mode=1777,size={size}" if size else "mode=1777"
            linux.mount("tmpfs", message["path"], "tmpfs", options=options)

    def _remove(self, message: dict[str, Any], _: list[int]) -> None:
        """Delete folders of ended containers and pods, off the node's back."""
        for path in message["unmount"]:
            with contextlib.suppress(OSError):
                linux.unmount(path)
        child = os.fork()
        if child == 0:
            for path in message["paths"]:
                shutil.rmtree(path, ignore_errors=True)
            os._exit(0)

    def _reap(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            self._ended(process, exit_code(status))

    def _ended(self, process: int, code: int) -> None:
        out_of_memory = self._watchdog.forget(process)
        for identifier, child in self._children.items():
            if child == process:
                del self._children[identifier]
                self._tell_end(identifier, code, out_of_memory)
                return

    def _tell_end(self, identifier: str, code: int, out_of_memory: bool) -> None:
        send(self._channel, {"id": identifier, "exit": code, "oom": out_of_memory})


def _environment_of(container: int) -> dict[str, str]:
    """The environment of the container's main process: its first process's only child at first."""
    children = Path(f"/proc/{container}/task/{container}/children").read_text().split()
    data = Path(f"/proc/{children[0]}/environ").read_bytes() if children else b""
    pairs = (item.partition("=") for item in os.fsdecode(data).split("\0") if item)
    return {name: value for name, _, value in pairs}


def _join(container: int) -> None:
    kinds = {
        "mnt": linux.CLONE_NEWNS,
        "uts": linux.CLONE_NEWUTS,
        "ipc": linux.CLONE_NEWIPC,
        "pid": linux.CLONE_NEWPID,
    }
    opened = [(os.open(f"/proc/{container}/ns/{name}", os.O_RDONLY), kinds[name]) for name in kinds]
    for descriptor, kind in opened:
        linux.setns(descriptor, kind)


def isolate() -> bool:
    """Enter namespaces of this node's own; False where the machine does not allow it.

    Returns in a new process, first of its PID namespace. Without root a user namespace gives the
    right to the others.
    """
    user, group = os.getuid(), os.getgid()
    flags = linux.CLONE_NEWNS | linux.CLONE_NEWPID
    try:
        linux.unshare(flags if user == 0 else flags | linux.CLONE_NEWUSER)
    except OSError:
        return False
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    child = os.fork()
    if child != 0:  # stay the parent of the namespace's first process for as long as that lives
        os.closerange(3, 64)
        os.waitpid(child, 0)
        os._exit(1)
    die_with_parent(0)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
    with contextlib.suppress(OSError):
        linux.mount("proc", "/proc", "proc")
    return True


def main() -> None:
    """Enter the namespaces, greet the node, serve it."""
    die_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the node's to handle
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel = socket.socket(fileno=int(sys.argv[1]))
    isolated = isolate()
    send(channel, {"isolated": isolated})
    gc.freeze()  # what exists now is shared with every child: keep the collector off it
    Spawner(channel, isolated).serve()


if __name__ == "__main__":
    main()
