"""A kubeconfig whose files have no end, or whose login plugin is a bad one: tool and operator."""

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.machine import clock
from tests.live import patience
from tests.live.pdj import CHECKOUT, environment
from tests.live.processes import command_lines

Raw = dict[str, Any]
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
MOST_BYTES = 8 << 30
"""Of addresses: who reads on for ever is ended by this and not by the machine."""
HANGS = 4711
"""Seconds by which its process is recognised."""


def plugin(script: str) -> Raw:
    return {"user": {"exec": {**EXEC, "command": "sh", "args": ["-c", script]}}}


ENDLESS = "more than 1 MiB"
BAD = {
    "token": ({"user": {"tokenFile": "/dev/zero"}}, ENDLESS),
    "CA": ({"cluster": {"certificate-authority": "/dev/zero"}}, ENDLESS),
    "long": (plugin("cat /dev/zero"), ENDLESS),
    "escapes": (plugin(r"printf '\033[2J\033]0;x\007' >&2; exit 3"), "exit code 3"),
    "a number": ({"user": {"exec": {**EXEC, "command": 7}}}, "cannot be run"),
}


def write_kubeconfig(path: Path, cluster: Raw | None = None, user: Raw | None = None) -> Path:
    """Of a server that nobody has; what is asked of it does not matter."""
    parts = {
        "clusters": [
            {"name": "c", "cluster": {"server": "https://127.0.0.1:1", **(cluster or {})}}
        ],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    config = {"apiVersion": "v1", "kind": "Config", **parts, "current-context": "x"}
    path.write_text(yaml.safe_dump(config))
    return path


def start(kubeconfig: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The tool, and the operator."""
    flags = ["--namespace=default", "--metrics-bind-address=0", "--health-probe-bind-address=0"]
    for program in (["pdj", "list"], ["controller", f"--kubeconfig={kubeconfig}", *flags]):
        yield subprocess.Popen(
            [sys.executable, "-m", *program],
            cwd=CHECKOUT,
            env=environment(str(kubeconfig)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)),
        )


@pytest.mark.parametrize(("parts", "says"), BAD.values(), ids=BAD.keys())
def test_bad_credentials_are_one_line(parts: Raw, says: str, tmp_path: Path) -> None:
    for process in list(start(write_kubeconfig(tmp_path / "config", **parts))):
        said = process.communicate(timeout=patience.SECONDS)[1].decode()
        assert process.returncode == 1, said
        assert says in said and said.count("\n") == 1, said
        assert said.isascii() and not any(c < " " for c in said.rstrip("\n")), said


def test_a_login_that_hangs_is_told_and_ends_with_who_asked(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", **plugin(f"exec sleep {HANGS}"))
    with ExitStack() as stack:
        asking = [stack.enter_context(process) for process in start(kubeconfig)]
        for process in asking:
            assert process.stderr is not None
            assert b"waiting for the login plugin sh, 60 s at most" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)
        for process in asking:
            process.wait(patience.SECONDS)
    assert clock.wait_until(lambda: str(HANGS) not in command_lines(), patience.SECONDS)
