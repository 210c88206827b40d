"""`debug`, `top`, `completion`, `version` and `restart --submit-again` beside running jobs."""

import json
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.live.faulty import impose
from tests.live.lab import SERVER, Lab, paddle_job, shell
from tests.live.metrics_stub import MetricsStub
from tests.live.pdj import CHECKOUT, Tool, environment

TOKEN = {"name": "TOKEN", "value": "very-private"}
PASSWORD = {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "pw"}}}
VAULT = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "vault"},
    "stringData": {"pw": "never-told"},
}

A_GPU = {"limits": {"nvidia.com/gpu": "1"}}


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """A job that runs, with things that are nobody's business, and one that has failed."""
    talks = shell("echo working; exec sleep 3600", env=[TOKEN, PASSWORD])
    impose(module_lab, "no-gpus", **{"requests.nvidia.com/gpu": 0})
    module_lab.submit(
        VAULT,
        paddle_job("steady", {"ps": (1, SERVER), "worker": (1, talks)}),
        paddle_job("costly", {"worker": (1, shell("exit 0", resources=A_GPU))}),
        paddle_job("ended", {"worker": (1, shell("exit 3"))}, cleanPodPolicy="Never"),
    )
    module_lab.wait_phase("steady", "Running")
    module_lab.wait(lambda: module_lab.condition("ended", "Failed"), "it fails")
    return module_lab


def read_bundle(file: Path) -> dict[str, str]:
    with tarfile.open(file) as archive:
        return {
            member.name: data.read().decode()
            for member in archive.getmembers()
            if (data := archive.extractfile(member)) is not None
        }


def test_debug_gathers_all_that_helps_and_nothing_private(jobs, tool, tmp_path):
    file = tmp_path / "steady.tar.gz"
    tool.ok("debug", "steady", "-o", str(file))
    assert file.stat().st_mode & 0o077 == 0
    texts = {name.partition("/")[2]: text for name, text in read_bundle(file).items()}
    job = json.loads(texts["job.json"])
    assert job["status"]["phase"] == "Running"
    assert "working" in texts["logs/steady-worker-0-paddle.log"]
    assert json.loads(texts["pods/steady-ps-0.json"])["status"]["phase"] == "Running"
    assert {each["reason"] for each in json.loads(texts["events.json"])} >= {"Created", "Scheduled"}
    nodes = {pod["spec"]["nodeName"] for pod in jobs.pods("steady")}
    assert {node["metadata"]["name"] for node in json.loads(texts["nodes.json"])} == nodes
    assert texts["problems.txt"] == ""
    whole = "".join(texts.values())
    assert TOKEN["value"] not in whole
    assert "never-told" not in whole
    again = tool.run("debug", "steady", "-o", str(file))
    assert (again.code, again.notes) == (
        1,
        f"error: {file} exists already: --output names another file\n",
    )


def test_debug_has_the_operators_lines_about_the_job(jobs: Lab, tool: Tool, tmp_path: Path) -> None:
    file = tmp_path / "costly.tar.gz"
    jobs.wait(lambda: jobs.condition("costly", "Pending"), "it waits for its quota")
    tool.ok("debug", "costly", "-o", str(file))
    (log,) = (text for name, text in read_bundle(file).items() if name.endswith("operator.log"))
    assert "exceeded quota: no-gpus" in log
    assert all(f"{jobs.namespace}/costly" in line for line in log.splitlines())


def test_debug_has_values_of_variables_where_they_are_asked_for(jobs, tool, tmp_path):
    file = tmp_path / "with.tar.gz"
    tool.ok("debug", "steady", "--with-env", "-o", str(file))
    whole = "".join(read_bundle(file).values())
    assert TOKEN["value"] in whole
    assert "never-told" not in whole


def test_debug_that_cannot_be_written_leaves_nothing(jobs: Lab, tool: Tool, tmp_path: Path) -> None:
    done = tool.run("debug", "steady", "-o", str(tmp_path / "none" / "x.tar.gz"))
    assert done.code == 1
    assert "No such file" in done.notes
    assert not list(tmp_path.iterdir())


def test_top_says_so_where_nobody_measures_and_else_what_is_used(jobs, tool, tmp_path):
    done = tool.run("top", "steady")
    said = "error: this cluster does not measure resource usage: it has no metrics.k8s.io\n"
    assert (done.code, done.notes) == (1, said)
    with MetricsStub(jobs.cluster, tmp_path, cpu="900m"):
        jobs.wait(lambda: tool.run("top", "steady").code == 0, "the cluster measures")
        rows = [line.split() for line in tool.ok("top", "steady").splitlines()]
    assert rows[0] == ["POD", "CPU", "MEMORY"]
    assert {row[0]: row[1] for row in rows[1:]} == {
        "steady-ps-0": "900m",
        "steady-worker-0": "900m",
    }


@pytest.fixture(scope="module")
def path_of_tools(jobs: Lab, tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with what `pipx install` puts there, and kubectl."""
    folder = tmp_path_factory.mktemp("bin")
    for name, module in (("kubectl-pdj", "__main__"), ("kubectl_complete-pdj", "completion")):
        script = folder / name
        run = shlex.join([sys.executable, "-c", f"from pdj.{module} import run; run()"])
        script.write_text(f'#!/bin/sh\nexec {run} "$@"\n')
        script.chmod(0o755)
    return f"{folder}:{jobs.cluster.kubectl_environment()['PATH']}"


def shell_says(tool: Tool, path: str, *command: str) -> str:
    done = subprocess.run(
        command, env=environment(tool.kubeconfig, PATH=path), cwd=CHECKOUT, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_kubectl_completes_commands_options_and_jobs(jobs, tool, path_of_tools):
    ask = ("kubectl", "__complete", "pdj")
    assert shell_says(tool, path_of_tools, *ask, "sta").splitlines()[0] == "status"
    assert "--submit-again" in shell_says(tool, path_of_tools, *ask, "restart", "--")
    named = shell_says(tool, path_of_tools, *ask, "-n", jobs.namespace, "status", "")
    assert named.splitlines()[:3] == ["costly", "ended", "steady"]


BASH = """
eval "$(kubectl-pdj completion bash)"
COMP_WORDS=(kubectl-pdj -n {namespace} status st)
COMP_CWORD=4
_kubectl_pdj
echo "${{COMPREPLY[@]}}"
"""


def test_bash_completes_by_the_script(jobs: Lab, tool: Tool, path_of_tools: str) -> None:
    script = BASH.format(namespace=jobs.namespace)
    assert shell_says(tool, path_of_tools, "bash", "-c", script).strip() == "steady"


def test_an_ended_job_is_submitted_again(jobs: Lab, tool: Tool) -> None:
    refused = tool.run("restart", "ended")
    assert refused.code == 1
    again = f"kubectl pdj -n {jobs.namespace} restart ended --submit-again"
    assert again in refused.notes
    before = jobs.job("ended")
    tool.ok("restart", "ended", "--submit-again")
    after = jobs.job("ended")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    jobs.wait(lambda: jobs.condition("ended", "Failed"), "it fails anew")


def test_versions_fit(jobs: Lab, tool: Tool) -> None:
    own, kubernetes, served, *operators, fit = tool.ok("version").splitlines()
    assert own.startswith("kubectl-pdj ")
    assert kubernetes.split()[1].startswith("v1.")
    assert served.split() == ["PaddleJob", "batch.paddlepaddle.org/v1"]
    assert all(line.startswith(("Operator ", "Leads ")) for line in operators)
    assert fit == "this tool and the cluster's CRD match"
