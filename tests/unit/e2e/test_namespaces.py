"""Nothing of a real node outlives its run, and the machine keeps its own settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.machine.project import PROJECT
from tests.e2e.world import command_line

SLEEP = "echo started; sleep 60"
RUN = f"""
import subprocess
from tests.e2e.world import command_line
subprocess.run(command_line(["sh", "-c", "{SLEEP}"]))
"""
SETTING = Path("/proc/sys/kernel/keys/root_maxkeys")
LEFT = Path("/var/lib/kubelet/left")


@pytest.fixture(autouse=True)
def namespaces() -> None:
    if sys.platform != "linux" or subprocess.run(command_line(["true"])).returncode:
        pytest.skip("namespaces of mounts, networks, host names and processes need root")


def test_what_a_kubelet_sets_and_writes_is_not_the_machines():
    before = SETTING.read_text()
    script = f"echo $(($(cat {SETTING}) + 1)) > {SETTING}; cat {SETTING}; touch {LEFT}"
    try:
        within = subprocess.check_output(command_line(["sh", "-ec", script]))
        assert int(within) == int(before) + 1
        assert SETTING.read_text() == before
    finally:
        SETTING.write_text(before)
    assert not LEFT.exists()


def test_all_ends_with_the_process_that_has_asked_for_it():
    command = [sys.executable, "-c", RUN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT) as run:
        assert run.stdout
        assert run.stdout.readline() == b"started\n"
        run.kill()
        assert run.stdout.read() == b"", "its end is that of the last process which could write"
