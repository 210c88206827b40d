"""The operator works where it can write no file: its manifest says readOnlyRootFilesystem."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.conftest import new_namespace
from tests.live.certificates import write_certificate
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import CHECKOUT, readiness
from tests.live.proxy import FaultProxy

FROZEN = 'mount -o remount,bind,ro / && ! touch "$0" && exec "$@"'
"""Runs a command where the file of the first argument cannot be made."""


@contextmanager
def read_only_operator(
    proxy: FaultProxy, lab: Lab, folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """An operator that leads, in a mount namespace of its own."""
    kubeconfig = proxy.write_kubeconfig(folder / "kubeconfig")
    operator = [sys.executable, "-m", "controller", f"--kubeconfig={kubeconfig}"]
    operator += [f"--namespace={lab.namespace}", "--metrics-bind-address=0", "--leader-elect"]
    operator += [f"--leader-election-namespace={lab.namespace}"]
    operator += ["--health-probe-bind-address=127.0.0.1:0"]
    command = ["unshare", "--mount", "sh", "-c", FROZEN, str(folder / "probe"), *operator]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_job_completes_where_the_operator_can_write_no_file(unattended, tmp_path):
    certificate = write_certificate(tmp_path)
    with (
        new_namespace(unattended) as namespace,
        closing(FaultProxy(unattended, certificate=certificate)) as proxy,
    ):
        lab = Lab(unattended, namespace)
        with read_only_operator(proxy, lab, tmp_path) as operator:
            lab.submit(paddle_job("train", {"worker": (2, shell("exit 0"))}))
            lab.wait_completed("train")
            assert readiness(operator) == 200
            log = (tmp_path / "log").read_text()
            assert "Read-only file system" in log  # that of the probe
            assert "Traceback" not in log
