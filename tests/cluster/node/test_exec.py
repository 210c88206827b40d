"""`kubectl exec`, `cp` and `port-forward` against the node."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localcluster.machine import clock
from tests.live import patience
from tests.live.nodepods import (
    EMPTY,
    MOUNT,
    Pods,
    container_processes,
    python,
    shell,
)

SENT = os.urandom(5_000_000)
"""More than the buffers on its way hold."""
SERVER = """
import socketserver

class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)

socketserver.ThreadingTCPServer(("127.0.0.1", 8000), Echo).serve_forever()
"""
"""Sends back what it gets until that ends, and listens for its own pod only."""
PROBE = 'import socket; socket.create_connection(("127.0.0.1", 8000)).close()'


@pytest.fixture
def box(pods: Pods) -> Pods:
    fields = MOUNT | {"workingDir": "/var/tmp", "env": [{"name": "MINE", "value": "set"}]}
    pods.create("box", shell("echo kept > /v/file; sleep 3600", **fields), **EMPTY)
    pods.wait_ready("box")
    return pods


def start(pods: Pods, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
    """Start kubectl; by default its streams are pipes."""
    command = [str(pods.cluster.bin_dir / "kubectl"), "-n", pods.namespace, *arguments]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | streams
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command, env=pods.cluster.kubectl_environment(), **pipes
    )
    return process


def kubectl(pods: Pods, *arguments: str, sent: bytes = b"") -> tuple[int, bytes, str]:
    with start(pods, *arguments) as process:
        output, errors = process.communicate(sent, timeout=patience.SECONDS)
    return process.returncode, output, errors.decode()


def test_a_command_sees_what_its_container_sees(box: Pods) -> None:
    kinds = "mnt net uts ipc pid"
    same = f"for n in {kinds}; do [ /proc/1/ns/$n -ef /proc/self/ns/$n ] || echo other $n; done"
    script = f"uname -n; pwd; echo $MINE; cat /v/file; {same}"
    code, output, errors = kubectl(box, "exec", "box", "--", "sh", "-c", script)
    assert (code, errors) == (0, "")
    assert output.decode().split() == ["box", "/var/tmp", "set", "kept"]


def test_kubectl_ends_as_the_command_does(box: Pods) -> None:
    script = "echo out; echo err >&2; exit 3"
    code, output, errors = kubectl(box, "exec", "box", "--", "sh", "-c", script)
    assert (code, output) == (3, b"out\n")
    assert errors.splitlines() == ["err", "command terminated with exit code 3"]


def test_a_command_that_is_not_there_is_named(box: Pods) -> None:
    code, _, errors = kubectl(box, "exec", "box", "--", "no-such-program")
    assert code != 0
    assert '"no-such-program": executable file not found in $PATH' in errors


def test_input_reaches_the_command_and_ends(box: Pods) -> None:
    assert kubectl(box, "exec", "-i", "box", "--", "cat", sent=SENT) == (0, SENT, "")


def test_without_an_input_there_is_none(box: Pods) -> None:
    assert kubectl(box, "exec", "box", "--", "cat", sent=b"unread") == (0, b"", "")


def test_a_terminal_has_the_size_of_kubectls(box: Pods) -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (33, 99))
    script = 'until [ "$(stty size)" = "33 99" ]; do sleep 0.1; done; exit 4'
    command = ("exec", "-it", "box", "--", "sh", "-c", script)
    with start(box, *command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        assert process.wait(patience.SECONDS) == 4
    os.close(theirs)
    os.close(ours)


def test_a_key_interrupts_what_runs_in_a_terminal(box: Pods) -> None:
    ours, theirs = os.openpty()
    command = ("exec", "-it", "box", "--", "sh", "-c", "echo ready; sleep 3600")
    with start(box, *command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        shown = b""
        while b"ready" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, b"\x03")
        assert process.wait(patience.SECONDS) == 128 + signal.SIGINT
    os.close(theirs)
    os.close(ours)


@pytest.mark.parametrize("size", [0, len(SENT)], ids=["no input", "input that it does not read"])
def test_a_command_ends_when_its_client_has_gone(box: Pods, tmp_path: Path, size: int) -> None:
    sent, script = tmp_path / "sent", "echo ready; exec sleep 3599"
    sent.write_bytes(SENT[:size])
    with (
        sent.open("rb") as stdin,
        start(box, "exec", "-i", "box", "--", "sh", "-c", script, stdin=stdin) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()

    def left() -> list[str]:
        return [each for each in container_processes(box.cluster) if each == "sleep 3599 "]

    assert clock.wait_until(lambda: not left(), patience.SECONDS), left()


def test_files_go_in_and_come_out(box: Pods, tmp_path: Path) -> None:
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(SENT)
    for command in ((str(source), "box:/v/there"), ("box:/v/there", str(back))):
        code, _, errors = kubectl(box, "cp", *command)
        assert code == 0, errors
    assert back.read_bytes() == SENT


@contextlib.contextmanager
def forwarding(pods: Pods, port: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    arguments = ("port-forward", "pod/server", f":{port}", "--address=127.0.0.1")
    with start(pods, *arguments) as process:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) ", said)
        assert found, said
        try:
            yield process, int(found[1])
        finally:
            process.kill()


def exchange(port: int, sent: bytes) -> bytes:
    """What comes back until its end; a thread sends, for buffers do not hold all."""
    with socket.create_connection(("127.0.0.1", port), patience.SECONDS) as connection:

        def send() -> None:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)

        with ThreadPoolExecutor(1) as sender:
            sender.submit(send)
            return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_forwarded_port_reaches_the_pods_own_server_until_both_ends_have_ended(pods):
    probe = {"exec": {"command": ["python", "-c", PROBE]}, "periodSeconds": 1}
    pods.create("server", python(SERVER, readinessProbe=probe))
    pods.wait_ready("server")
    bodies = [SENT, *(bytes([number]) * 100_000 for number in range(7))]
    with forwarding(pods, 8000) as (_, port), ThreadPoolExecutor(len(bodies)) as threads:
        assert [*threads.map(lambda body: exchange(port, body), bodies)] == bodies


def test_a_port_that_nobody_listens_on_is_refused(pods: Pods) -> None:
    pods.create("server", shell("sleep 3600"))
    pods.wait_ready("server")
    with forwarding(pods, 8001) as (process, port):
        with contextlib.suppress(ConnectionError):
            assert exchange(port, b"") == b""
        assert process.stderr is not None
        assert "onnection refused" in process.stderr.readline().decode()
