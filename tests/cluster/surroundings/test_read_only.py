"""The operator works where it can write no file: its manifest says readOnlyRootFilesystem."""

from contextlib import closing

from tests.conftest import new_namespace
from tests.live.certificates import write_certificate
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind, readiness
from tests.live.proxy import FaultProxy

FROZEN = 'mount -o remount,bind,ro / && ! touch "$0" && exec "$@"'
"""Runs a command where the file of the first argument cannot be made."""


def test_job_completes_where_the_operator_can_write_no_file(unattended, tmp_path):
    """It leads, in a mount namespace of its own."""
    certificate = write_certificate(tmp_path)
    by = ("unshare", "--mount", "sh", "-c", FROZEN, str(tmp_path / "probe"))
    with (
        new_namespace(unattended) as namespace,
        closing(FaultProxy(unattended, certificate=certificate)) as proxy,
    ):
        flags = ("--leader-elect", f"--leader-election-namespace={namespace}")
        lab = Lab(unattended, namespace)
        with operator_behind(proxy, namespace, tmp_path, *flags, by=by) as operator:
            lab.submit(paddle_job("train", {"worker": (2, shell("exit 0"))}))
            lab.wait_completed("train")
            assert readiness(operator) == 200
            log = (tmp_path / "log").read_text()
            assert "Read-only file system" in log  # that of the probe
            assert "Traceback" not in log
