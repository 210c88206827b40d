"""The process that forks every container of a node, and the first in the node's PID namespace.

It is a program with one thread, because forking and changing namespaces is then safe and cheap: a
container starts as a copy of this small process. It takes requests from the node over a socket and
reports the end of each process. It ends with the node (end of the socket, parent-death signal), and
the kernel then kills every container. If the machine allows no namespaces, containers are plain
process trees, and `isolated` is false in the first message.

    python -m localcluster.node.runtime.spawner <socket descriptor> <process of the pods' network>

The process is 0 if the pods share the machine's network. Without root, that of the network is root
of a user namespace, and the containers run in the same one: no other may join their network.
"""

import contextlib
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.guard import die_with_parent, exit_code
from localcluster.node.runtime import linux
from localcluster.node.runtime.container_init import (
    KILL_TREE,
    exec_program,
    report_failure,
    run_init,
)
from localcluster.node.runtime.memory import Watchdog
from localcluster.node.runtime.podnetwork import make_pod_network
from localcluster.node.runtime.protocol import receive, send

NOT_ALLOWED = (
    "this user may make no namespaces, which pods with files of their own need: run it as root, or "
    "have the machine's administrator allow them (sysctl user.max_user_namespaces, and on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0)"
)


class Spawner:
    """Children by id. An id is in `_children` from the fork until the child's end is reported."""

    def __init__(self, channel: socket.socket, isolated: bool) -> None:
        self._channel = channel
        self._isolated = isolated
        self._children: dict[str, int] = {}
        self._networks: dict[
            str, int
        ] = {}  # descriptors of the pods' namespaces, by the pods' UIDs
        self._own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY) if isolated else -1
        self._watchdog = Watchdog(isolated, signal.SIGKILL if isolated else KILL_TREE)

    def serve(self) -> None:
        """Serve requests until the node is gone."""
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
            "network": self._make_network,
            "leave": self._leave_network,
            "socket": self._open_socket,
            "remove": self._remove,
        }
        try:
            handlers[message["op"]](message, descriptors)
        except OSError:  # no process or memory left: report an end, and serve the others
            self._tell_end(message.get("id", ""), 128, False)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _start(self, message: dict[str, Any], descriptors: list[int]) -> None:
        child = self._fork_isolated() if self._isolated else os.fork()
        if child == 0:
            self._become_child()
            if message["network"]:
                linux.setns(self._networks[message["network"]], linux.CLONE_NEWNET)
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
            if child != 0:  # later children belong in the spawner's own namespace again
                linux.setns(self._own_namespace, linux.CLONE_NEWPID)
        return child

    def _become_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent(os.getppid())
        self._channel.close()

    def _exec(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Run another program in a container; `descriptors` are stdin, stdout, stderr, and one for
        an error.
        """
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
        *streams, report = descriptors
        parent = 0 if self._isolated else os.getpid()  # this process's pid as the program sees it
        status = 126
        with contextlib.suppress(OSError):
            environment = _environment_of(container)
            # The program starts in the container's working directory: that of its first process.
            folder = os.open(f"/proc/{container}/cwd", os.O_PATH)
            if self._isolated:
                _join(container)
            os.fchdir(folder)
            child = os.fork()
            if child == 0:
                die_with_parent(parent)
                exec_program(message["argv"], environment, streams, report)
            for descriptor in streams:
                os.close(descriptor)
            status = exit_code(os.waitpid(child, 0)[1])
        os._exit(status)

    def _kill(self, message: dict[str, Any], _: list[int]) -> None:
        child, number = self._children.get(message["id"]), message["signal"]
        if number == signal.SIGKILL and not self._isolated:  # SIGKILL would kill only one process
            number = KILL_TREE
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    def _mount_tmpfs(self, message: dict[str, Any], _: list[int]) -> None:
        """Mount a memory volume in this mount namespace: containers inherit it, but the host does
        not see it. Without namespaces the volume stays a folder on the disk.
        """
        if self._isolated:
            size = message["size_bytes"]
            options = f"mode=1777,size={size}" if size else "mode=1777"
            linux.mount("tmpfs", message["path"], "tmpfs", options=options)

    def _make_network(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Create a network namespace for a pod; `descriptors` are the namespace of the bridge, and
        one for an error.
        """
        bridge, report = descriptors
        if message["network"] in self._networks:  # the node asks again after an error
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

        def make() -> None:
            try:
                send(theirs, {}, [make_pod_network(bridge, message["address"])])
            except OSError as error:
                report_failure(report, "FailedCreatePodSandBox", str(error))

        with ours:
            with theirs:
                self._go_and(make)
            made, namespaces = receive(ours)
        if made is not None:
            (self._networks[message["network"]],) = namespaces

    def _go_and(self, act: Callable[[], None]) -> None:
        """Do in a child what moves to another network: only root could return from there."""
        if os.fork() == 0:
            self._become_child()
            with contextlib.suppress(OSError):
                act()
            os._exit(0)

    def _open_socket(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Open a socket in a pod's network namespace, and send it over `descriptors[0]`."""
        network = self._networks.get(message["network"], -1)

        def open_there() -> None:
            linux.setns(network, linux.CLONE_NEWNET)
            with socket.socket() as opened, socket.socket(fileno=descriptors[0]) as channel:
                send(channel, {}, [opened.fileno()])

        self._go_and(open_there)

    def _leave_network(self, message: dict[str, Any], _: list[int]) -> None:
        """Release the namespace; the kernel removes it when its last process ends."""
        descriptor = self._networks.pop(message["network"], -1)
        if descriptor >= 0:
            os.close(descriptor)

    def _remove(self, message: dict[str, Any], _: list[int]) -> None:
        """Delete folders of ended containers and pods, so that the node does not have to wait."""
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
    """The environment of the program, which is the first child of the container's PID 1."""
    children = Path(f"/proc/{container}/task/{container}/children").read_text().split()
    data = Path(f"/proc/{children[0]}/environ").read_bytes() if children else b""
    pairs = (item.partition("=") for item in os.fsdecode(data).split("\0") if item)
    return {name: value for name, _, value in pairs}


def _join(container: int) -> None:
    """Enter the container's namespaces, except those in which this process already is.

    A pod on the node's network shares this process's network namespace. Only root can enter that
    again.
    """
    kinds = {
        "mnt": linux.CLONE_NEWNS,
        "uts": linux.CLONE_NEWUTS,
        "ipc": linux.CLONE_NEWIPC,
        "net": linux.CLONE_NEWNET,
        "pid": linux.CLONE_NEWPID,
    }
    opened = [
        (os.open(f"/proc/{container}/ns/{name}", os.O_RDONLY), kind)
        for name, kind in kinds.items()
        if not Path(f"/proc/{container}/ns/{name}").samefile(f"/proc/self/ns/{name}")
    ]
    for descriptor, kind in opened:
        linux.setns(descriptor, kind)


def isolate(network: int = 0) -> bool:
    """Enter namespaces for this node; return False if the machine does not allow that.

    If it does, this returns in a new process, the first of its PID namespace. `network` is the
    process of the pods' network, if there is one.
    """
    if not may_isolate(network):
        return False
    _unshare(network)
    child = os.fork()
    if child != 0:  # remain the parent until the namespace's first process ends
        os.closerange(3, 64)
        os.waitpid(child, 0)
        os._exit(1)
    die_with_parent(0)
    _leave_mounts()
    with contextlib.suppress(OSError):
        linux.mount("proc", "/proc", "proc")
    return True


def need_isolation() -> None:
    """Raise LocalClusterError where no pod can have files of its own, as those of images are."""
    if not may_isolate():
        raise LocalClusterError(NOT_ALLOWED)


def may_isolate(network: int = 0) -> bool:
    """Test in a child process whether namespaces can be entered and used.

    Some machines let users create a user namespace, but give them no rights in it.
    """
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(OSError):
            _unshare(network)
            _leave_mounts()
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _unshare(network: int) -> None:
    if network:
        users = Path(f"/proc/{network}/ns/user")
        if not users.samefile("/proc/self/ns/user"):
            with users.open() as file:
                linux.setns(file.fileno(), linux.CLONE_NEWUSER)
    linux.unshare_as_root(linux.CLONE_NEWNS | linux.CLONE_NEWPID)


def _leave_mounts() -> None:
    """Keep future mounts private to this mount namespace."""
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)


def main() -> None:
    """Enter the namespaces, greet the node, and serve it."""
    die_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the node's to handle
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel = socket.socket(fileno=int(sys.argv[1]))
    isolated = isolate(int(sys.argv[2]))
    send(channel, {"isolated": isolated})
    gc.freeze()  # children share these objects in memory while the garbage collector skips them
    Spawner(channel, isolated).serve()


if __name__ == "__main__":
    main()
