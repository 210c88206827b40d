"""What a user does with jobs through `kubectl pdj`, from a file to the end."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from release.build import build
from tests.live import patience
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.pdj import Tool, run_pdj
from tests.live.proxy import Counted, FaultProxy

LAUNCH = "LAUNCH INFO 2026-01-02 03:04:05,678"
ALONE = f"echo '{LAUNCH} ips: None'; echo '{LAUNCH} nnodes: 1'"
MOST_REQUESTS = 6
"""Of a `status`."""


@pytest.fixture(scope="module")
def running(module_lab: Lab, tool: Tool) -> Lab:
    job = paddle_job("steady", {"ps": (1, SERVER), "worker": (2, SERVER)})
    tool.ok("submit", "-", stdin=yaml.safe_dump(job).encode())
    module_lab.wait_phase("steady", "Running")
    return module_lab


def test_list_shows_what_kubectl_shows(running: Lab, tool: Tool) -> None:
    title, *rows = tool.ok("list").splitlines()
    assert title.split()[:5] == ["NAME", "STATUS", "MODE", "PS", "WORKER"]
    shown = next(row.split()[:5] for row in rows if row.startswith("steady"))
    assert shown == ["steady", "Running", "PS", "1/1", "2/2"]
    reasons = {row.split()[0]: row.split()[-1] for row in rows}
    assert reasons["steady"] == "AllPodsRunning"
    assert tool.ok("list", "-o", "name").startswith("paddlejobs.batch.paddlepaddle.org/steady")


def test_status_shows_every_pod_with_its_node(running: Lab, tool: Tool) -> None:
    shown = tool.ok("status", "steady")
    for pod in running.pods("steady"):
        line = next(line for line in shown.splitlines() if pod["metadata"]["name"] in line)
        assert pod["spec"]["nodeName"] in line
        assert "Running" in line
    assert json.loads(tool.ok("status", "steady", "-o", "json"))["job"]["kind"] == "PaddleJob"


def test_status_asks_little(running: Lab, tool: Tool, tmp_path: Path) -> None:
    asked = Counted(lambda _: False)
    with closing(FaultProxy(running.cluster)) as proxy, proxy.rule("", "", asked):
        kubeconfig = str(proxy.write_kubeconfig(tmp_path / "kubeconfig"))
        done = run_pdj("-n", running.namespace, "status", "steady", kubeconfig=kubeconfig)
    assert done.code == 0, done
    assert 0 < len(asked.paths) <= MOST_REQUESTS, asked.paths


def test_completed_job_whose_workers_trained_alone_is_told_of(module_lab: Lab, tool: Tool) -> None:
    module_lab.submit(paddle_job("apart", {"worker": (2, shell(ALONE))}, cleanPodPolicy="Never"))
    module_lab.wait_completed("apart")
    for command in ("status", "logs", "explain"):
        done = tool.run(command, "apart")
        said = done.out + done.notes
        assert "TrainedAlone" in said and "worker 0's launcher knew of 1 node" in said, (
            command,
            done,
        )


def test_the_one_file_runs_in_an_empty_environment(running, tool, tmp_path):
    build(tmp_path / "kubectl-pdj")
    python, file = (str(Path(sys.base_prefix, "bin", "python3")), str(tmp_path / "kubectl-pdj"))
    bare = [python, "-I", "-S", file]
    words = ["--kubeconfig", tool.kubeconfig, "-n", running.namespace, "status", "steady"]
    done = subprocess.run([*bare, *words], env={}, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done
    assert b"2/2 running" in done.stdout


def test_suspend_resume_restart_and_delete_wait_for_their_end(running: Lab, tool: Tool) -> None:
    tool.ok("suspend", "steady", "--wait")
    assert running.status("steady")["phase"] == "Suspended"
    assert tool.run("restart", "steady").code == 1
    tool.ok("resume", "steady", "--wait")
    before = running.status("steady")
    tool.ok("restart", "steady", "--wait")
    after = running.status("steady")
    assert after["attempt"] == before["attempt"] + 1
    assert "failureCount" not in after
    tool.ok("delete", "steady", "--wait")
    assert tool.run("status", "steady").code == 1


def test_exit_code_is_the_jobs(module_lab: Lab, tool: Tool, tmp_path: Path) -> None:
    """Its pod is not scheduled before the command has said that it waits."""
    for name, script, code in (("good", "echo done", 0), ("bad", "echo done; exit 3", 1)):
        worker = shell(script)
        worker["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(paddle_job(name, {"worker": (1, worker)})))
        with tool.start("submit", str(file), "--wait") as command:
            assert command.stderr is not None
            assert any(line.startswith(f"{name}: Pending".encode()) for line in command.stderr)
            pod = f"pods/{name}-worker-0"
            module_lab.wait(lambda pod=pod: module_lab.get(CORE, pod), "its pod")
            module_lab.patch(CORE, pod, spec={"schedulingGates": None})
            out, notes = command.communicate(timeout=patience.SECONDS)
        assert command.returncode == code, notes
        assert out.splitlines()[-1].endswith(b"done")
        assert tool.run("status", name, "--watch").code == code
        restarted = tool.run("restart", name)
        assert restarted.code == 1
        assert "has ended" in restarted.notes


def test_waiting_ends_at_the_timeout(module_lab: Lab, tool: Tool) -> None:
    words = ("--name", "slow", "--wait", "--timeout", "2", "--", "sleep", "3600")
    done = tool.run("run", "busybox", *words)
    assert done.code == 124, done
    assert "slow: timed out after 2 s" in done.notes
    tool.ok("delete", "slow")


def test_log_of_a_job_that_run_has_made_stays(module_lab: Lab, tool: Tool) -> None:
    done = tool.run("run", "busybox", "--name", "stays", "--wait", "--", "echo", "trained")
    assert (done.code, done.out.splitlines()[-1].split()[-1]) == (0, "trained"), done
    assert tool.ok("logs", "stays").split()[-1] == "trained"
    tool.ok("delete", "stays")


def test_run_builds_a_job_that_the_api_server_takes(module_lab: Lab, tool: Tool) -> None:
    words = ("--workers", "2", "--ps", "1", "--env", "A=b", "--limits", "cpu=1")
    built = tool.ok(
        "run", "busybox", *words, "--dry-run=client", "-o", "yaml", "--", "sh", "-c", "exit 0"
    )
    container = yaml.safe_load(built)["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["sh", "-c", "exit 0"]
    assert container["env"] == [{"name": "A", "value": "b"}]
    module_lab.submit(yaml.safe_load(built))
    module_lab.wait_completed("busybox")
