"""Containers of a user who is not root: what people's own machines allow."""

import contextlib
import errno
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.node.runtime import linux, spawner
from localcluster.node.runtime.logs import LogFile
from localcluster.node.runtime.podnetwork import PodNetwork
from localcluster.node.runtime.protocol import ContainerSpec, receive, send
from localcluster.node.runtime.runtime import Runtime
from tests.live import patience

ROOT = Path(__file__).parents[3]
NAMESPACE = "readlink /proc/self/ns/net"
NOT_ALLOWED = 77
BECOME = f"""
import os, sys
from pathlib import Path
from localcluster.node.runtime import linux

user, group = os.getuid(), os.getgid()
try:
    linux.unshare(linux.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"1000 {{user}} 1")
    Path("/proc/self/gid_map").write_text(f"1000 {{group}} 1")
    if sys.argv[1] == "none":
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
except OSError as error:
    print(error)
    sys.exit({NOT_ALLOWED})
os.execv(sys.executable, [sys.executable, "-m", {__name__!r}, *sys.argv[1:]])
"""
"""Goes on as user 1000, who has no capability, and may make user namespaces or none."""


@pytest.mark.parametrize("allowed", ["namespaces", "none", "networks"])
def test_a_user_runs_containers(tmp_path, allowed):
    command = [sys.executable, "-c", BECOME, allowed, str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=patience.SECONDS
    )
    if done.returncode == NOT_ALLOWED:
        pytest.skip(f"nobody can be made user 1000 here: {done.stdout}")
    assert done.returncode == 0, done.stderr


def test_namespaces_that_give_no_rights_are_not_entered(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "as a machine's policy may")

    monkeypatch.setattr(linux, "mount", refuse)
    assert not spawner.isolate()


def test_a_pods_network_that_is_asked_for_again_is_the_same(monkeypatch, tmp_path):
    made = tmp_path / "made"

    def make(*_: object) -> int:
        with made.open("a") as file:
            file.write("once\n")
        return os.open("/", os.O_RDONLY)

    monkeypatch.setattr(spawner, "make_pod_network", make)
    node, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    network = -1
    with node, theirs, Path(os.devnull).open() as null:
        serving = spawner.Spawner(theirs, isolated=False)
        for op in ("network", "network", "leave"):
            descriptors = [null.fileno()] * 2 if op == "network" else []
            send(node, {"op": op, "network": "uid", "address": "198.18.0.2"}, descriptors)
            serving._take_request()
            network = serving._networks.get("uid", network)
    assert made.read_text().split() == ["once"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(network)


def test_command_that_is_too_long_for_a_packet_leaves_the_spawner():
    node, spawner_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with node, spawner_end:
        with pytest.raises(OSError, match="too long"):
            send(node, {"op": "exec", "argv": ["\x01" * 40000]})
        send(node, {"op": "exec"})
        assert receive(spawner_end)[0] == {"op": "exec"}


def run_container(allowed: str, folder: Path) -> None:
    """As user 1000: a container starts, a command runs in it, and a signal ends it."""
    assert os.getuid() == 1000
    runtime = Runtime(lambda: None)
    try:
        assert runtime.isolated == (allowed == "namespaces")
        refused = contextlib.nullcontext() if runtime.isolated else pytest.raises(LocalClusterError)
        with refused:
            spawner.need_isolation()
        log = LogFile(folder / "log")
        container = runtime.start(spec_of(folder), log, lambda: None)
        code, output = runtime.run(container, ["sh", "-c", f"{NAMESPACE}; pwd"], patience.SECONDS)
        assert (code, output.decode().split()) == (
            0,
            [str(Path("/proc/self/ns/net").readlink()), "/usr"],
        )
        runtime.kill(container, 9)
        assert container.ended.wait(patience.SECONDS)
        assert container.end is not None
        assert container.end.exit_code == 137
        assert log.complete.wait(patience.SECONDS)
    finally:
        runtime.close()


def run_networks(folder: Path) -> None:
    """As user 1000: two pods listen on the same port, each in a network of its own."""
    with contextlib.ExitStack() as stack:
        words = [
            sys.executable,
            "-m",
            "localcluster.node.runtime.fabric",
            str(folder),
            "127.0.0.1:1",
        ]
        fabric = stack.enter_context(subprocess.Popen(words, cwd=ROOT))
        stack.callback(fabric.kill)
        assert clock.wait_until(lambda: PodNetwork.read(folder) is not None, patience.SECONDS)
        network = PodNetwork.read(folder)
        assert network is not None
        runtime = Runtime(lambda: None, network.pid)
        stack.callback(runtime.close)
        addresses = {"one": "198.18.0.2", "other": "198.18.0.3"}
        for name, address in addresses.items():
            runtime.make_network(name, address, network.open())
            listener = stack.enter_context(runtime.open_socket(name))
            listener.bind(("0.0.0.0", 36000))
            listener.listen()
        client = stack.enter_context(runtime.open_socket("one"))
        client.connect((addresses["other"], 36000))
        assert client.getsockname()[0] == addresses["one"]
        spec = replace(spec_of(folder), argv=["readlink", "/proc/self/ns/net"], network="one")
        log = LogFile(folder / "log")
        runtime.start(spec, log, lambda: None)
        assert log.complete.wait(patience.SECONDS)
        assert "net:[" in (folder / "log").read_text()
        assert str(Path("/proc/self/ns/net").readlink()) not in (folder / "log").read_text()


def spec_of(folder: Path) -> ContainerSpec:
    """A container that runs until it is told to end."""
    etc, scratch = folder / "etc", folder / "scratch"
    for each in (etc, scratch):
        each.mkdir()
    (etc / "hosts").write_text("127.0.0.1\tlocalhost\n")
    (etc / "hostname").write_text("pod\n")
    return ContainerSpec(
        argv=["sleep", "3600"],
        env={"PATH": os.environ["PATH"]},
        workdir="/usr",
        hostname="pod",
        scratch=str(scratch),
        etc=str(etc),
        mounts=[],
        memory_limit_bytes=0,
        read_only_root=False,
        network="",
    )


if __name__ == "__main__":
    if sys.argv[1] == "networks":
        run_networks(Path(sys.argv[2]))
    else:
        run_container(sys.argv[1], Path(sys.argv[2]))
