"""What a cluster leaves behind, and what a killed one may not spoil."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster, ClusterConfig, LocalClusterError
from localcluster.cluster import components
from localcluster.cluster.components import API_SERVER, COMPONENTS, SCHEDULER
from localcluster.machine import clock
from localcluster.machine.errors import StartError
from localcluster.machine.statefolder import claim
from tests.live import patience
from tests.live.processes import command_lines, processes_in

OWNER = """
import pathlib, sys
from localcluster import Cluster, ClusterConfig
folder = pathlib.Path(sys.argv[1])
config = ClusterConfig(nodes=1, state_dir=folder, report=lambda line: None)
with Cluster(config) as cluster:
    script = f"echo {folder}; sleep 300; true"
    pod = ["run", "it", "--image=busybox", "--restart=Never", "--command", "--", "sh", "-c", script]
    cluster.kubectl(*pod)
    running = "--for=jsonpath={.status.phase}=Running"
    cluster.kubectl("wait", running, "pod/it", "--timeout=120s", timeout_seconds=130)
    print("ready", flush=True)
    sys.stdin.read()
"""


BEFORE: list[str] = []
"""The network's devices before the owner started: other clusters may have some."""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with a cluster in `tmp_path` and a running pod, whose command names the folder."""
    BEFORE[:] = [name for _, name in socket.if_nameindex()]
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_killed_owner_leaves_nothing_but_a_state_to_start_over(owner, tmp_path):
    with pytest.raises(LocalClusterError, match=f"running cluster of process {owner.pid}"):
        Cluster(ClusterConfig(nodes=0, state_dir=tmp_path)).start()
    assert len(processes_in(tmp_path)) >= 2 * len(COMPONENTS)
    assert f"echo {tmp_path}; sleep" in command_lines()
    devices = {name for _, name in socket.if_nameindex() if name.startswith("lc")} - {*BEFORE}
    assert devices
    owner.kill()
    owner.wait()
    assert clock.wait_until(lambda: not processes_in(tmp_path), patience.SECONDS)
    assert clock.wait_until(
        lambda: f"echo {tmp_path}; sleep" not in command_lines(), patience.SECONDS
    )
    left = lambda: devices & {name for _, name in socket.if_nameindex()}  # noqa: E731
    assert clock.wait_until(lambda: not left(), patience.SECONDS)
    check_stop(tmp_path)


def check_stop(folder: Path) -> None:
    """A cluster starts over there; its stop leaves logs and no process, nor a command beside it."""
    with Cluster(ClusterConfig(nodes=0, state_dir=folder)) as cluster:
        script = "kubectl create configmap made; exec sleep 300"
        process = cluster.run_beside("beside", ["sh", "-c", script], folder)
        path = "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name=made"
        assert clock.wait_until(lambda: bool(cluster.get(path)["items"]), patience.SECONDS)
    assert not process.is_running
    assert processes_in(folder) == []
    logs = {each.name for each in (folder / "logs").iterdir()}
    assert logs >= {f"{name}.log" for name in COMPONENTS}


def test_temporary_state_of_a_killed_owner_goes_with_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stale = tmp_path / f"localcluster-{os.getuid()}" / "cluster-stale"
    stale.mkdir(parents=True)
    folder = claim(None)
    assert not stale.exists()
    folder.release()
    assert [each.name for each in stale.parent.iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        pytest.param(API_SERVER, "--audit-policy-file=nowhere", id="API server"),
        pytest.param(SCHEDULER, "--nowhere", id="scheduler"),
    ],
)
def test_component_that_dies_ends_the_start_with_its_words(name, flag, tmp_path, monkeypatch):
    def with_bad_flag(*arguments: Any, **options: Any) -> dict[str, list[str]]:
        lines = original(*arguments, **options)
        return {**lines, name: [*lines[name], flag]}

    original = components.command_lines
    monkeypatch.setattr(components, "command_lines", with_bad_flag)
    config = ClusterConfig(nodes=0, state_dir=tmp_path)
    with pytest.raises(StartError, match=rf"(?s){name} died \(\d+\):.*nowhere"):
        Cluster(config).start()
    assert processes_in(tmp_path) == []
