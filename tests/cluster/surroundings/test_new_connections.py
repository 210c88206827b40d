"""New connections take long, or must prove themselves anew: the lease holds all the same."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.certificates import write_certificate
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind
from tests.live.proxy import FaultProxy, first, refuse

WAITS = {"worker": (1, shell("exec sleep 3600"))}
RENEWALS = 8
"""In 16 s: a lease that nobody renews is lost after 10 s."""


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    with new_namespace(unattended) as namespace:
        yield Lab(unattended, namespace)


class Renewals:
    """When the proxy saw the lease renewed: a rule that passes everything on."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, _handler: BaseHTTPRequestHandler) -> bool:
        self.times.append(time.monotonic())
        return False

    def seconds(self) -> float:
        return time.monotonic() - self.times[-1]


@contextmanager
def leader(
    proxy: FaultProxy, lab: Lab, folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Renewals]]:
    flags = ("--leader-elect", f"--leader-election-namespace={lab.namespace}")
    renewals = Renewals()
    with (
        proxy.rule("PUT", "/leases/", renewals),
        operator_behind(proxy, lab.namespace, folder, *flags) as operator,
    ):
        lab.submit(paddle_job("before", WAITS))
        lab.wait_phase("before", "Running")
        lab.wait(lambda: renewals.times, "the lease is renewed")
        yield operator, renewals


def test_standby_leads_when_the_api_servers_authority_was_replaced(lab, tmp_path):
    hold_lease(lab)
    certificate = write_certificate(tmp_path)
    flags = ("--leader-elect", f"--leader-election-namespace={lab.namespace}")
    old = certificate.authority.read_bytes()
    with (
        closing(FaultProxy(lab.cluster, certificate=certificate)) as proxy,
        operator_behind(proxy, lab.namespace, tmp_path, *flags),
    ):
        lab.wait(lambda: len(proxy.watches()) >= 4, "the standby watches")
        replaced = write_certificate(tmp_path)
        new = replaced.authority.read_bytes()
        replaced.authority.write_bytes(old)
        proxy.prove_by(replaced)
        lab.wait(lambda: "certificate verify failed" in log_of(tmp_path), "it does not trust that")
        replaced.authority.write_bytes(new)
        lab.kubectl("delete", "lease", lease_name(lab))
        lab.submit(paddle_job("led", WAITS))
        lab.wait(lambda: lab.pods("led"), "its pods")


def lease_name(lab: Lab) -> str:
    return f"paddlejob-operator-{lab.namespace}"


def hold_lease(lab: Lab) -> None:
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    lab.submit({**lease, "metadata": {"name": lease_name(lab)}})


def log_of(folder: Path) -> str:
    return (folder / "log").read_text()


PLUGIN = """
import json, pathlib, time
while pathlib.Path("HANGS").exists():
    time.sleep(0.2)
api = "client.authentication.k8s.io/v1"
print(json.dumps({"apiVersion": api, "kind": "ExecCredential", "status": {"token": "any"}}))
"""


def test_lease_is_kept_while_a_credential_plugin_hangs(lab: Lab, tmp_path: Path) -> None:
    hangs = tmp_path / "hangs"
    with ExitStack() as stack:
        proxy = stack.enter_context(closing(FaultProxy(lab.cluster)))
        program = tmp_path / "plugin.py"
        program.write_text(PLUGIN.replace("HANGS", str(hangs)))
        proxy.user = ask(program)
        operator, renewals = stack.enter_context(leader(proxy, lab, tmp_path))
        stack.callback(hangs.unlink)
        hangs.touch()
        refused = first(1, refuse(401, "Unauthorized"))
        stack.enter_context(proxy.rule("POST", "/pods", refused))
        known = len(renewals.times)
        lab.submit(paddle_job("after", WAITS))
        lab.wait(lambda: lab.pods("after"), "its pods")
        lab.wait(lambda: len(renewals.times) >= known + RENEWALS, "the lease is renewed on")
        assert operator.poll() is None


def test_jobs_go_on_when_the_token_is_replaced_by_a_file_that_was_empty_and_gone(lab, tmp_path):
    token, valid = tmp_path / "token", ["one"]

    def is_refused(handler: BaseHTTPRequestHandler) -> bool:
        return handler.headers["Authorization"] != f"Bearer {valid[0]}" and unauthorized(handler)

    unauthorized = refuse(401, "Unauthorized")
    token.write_text("one")
    with closing(FaultProxy(lab.cluster)) as proxy, proxy.rule("", "", is_refused):
        proxy.user = {"tokenFile": str(token)}
        with leader(proxy, lab, tmp_path) as (operator, _):
            valid[0] = "two"
            for damage in (lambda: token.write_text(""), token.unlink):
                damage()
                proxy.cut_all()
                refused = log_of(tmp_path).count("Unauthorized")
                lab.wait(lambda n=refused: log_of(tmp_path).count("Unauthorized") > n, "refused")
            token.write_text("two")
            lab.submit(paddle_job("after", WAITS))
            lab.wait(lambda: lab.pods("after"), "its pods")
            assert operator.poll() is None


def ask(program: Path) -> dict[str, Any]:
    command = {"command": sys.executable, "args": [str(program)], "interactiveMode": "Never"}
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", **command}}
