"""The Python client with a running operator: from a function to its log, and what goes wrong."""
# ruff: noqa: T201, PTH109

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paddlejob
from paddlejob import Client
from tests.live import patience
from tests.live.faulty import impose
from tests.live.lab import Lab, paddle_job, shell
from tests.live.pdj import code_maps
from tests.live.tenant import write_rights

WORDS: dict[str, Any] = {"image": "python", "launcher": False}
CHECKOUT = Path(__file__).parents[3]


def greet(text: str, code: int = 0) -> None:
    import os
    import sys

    print(text, os.environ["PADDLE_TRAINER_ID"], os.getcwd())
    sys.exit(code)


def stay() -> None:
    import time

    print("step 3/10 loss: 0.5", flush=True)
    time.sleep(3600)


@pytest.fixture(scope="module")
def client(module_lab: Lab) -> Iterator[Client]:
    kubeconfig = module_lab.cluster.kubectl_environment()["KUBECONFIG"]
    with Client(module_lab.namespace, kubeconfig=kubeconfig) as made:
        yield made


def test_a_function_goes_from_here_to_its_log(module_lab: Lab, client: Client) -> None:
    threads = set(threading.enumerate())
    job = client.train(greet, args={"text": "<b>你好</b>"}, workers=2, **WORDS)
    lines = list(job.logs(follow=True, timeout=patience.SECONDS))
    assert sorted(lines) == [f"worker-{n} | <b>你好</b> {n} /workspace" for n in range(2)]
    assert job.wait(timeout=patience.SECONDS) is job
    assert (job.phase, job.reason.split(":")[0]) == ("Completed", "WorkersSucceeded")
    assert sorted(job.logs()) == sorted(lines)
    assert "greet" in job.explain(lang="zh") and job.progress is None
    assert set(threading.enumerate()) <= threads
    shown = job._repr_html_()
    assert "Completed" in shown and "<td>greet-worker-1</td>" in shown

    with pytest.raises(paddlejob.AlreadyThere, match="replace=True"):
        client.train(greet, args={"text": "again"}, **WORDS)
    again = client.train(greet, args={"text": "again"}, replace=True, **WORDS)
    with pytest.raises(paddlejob.PaddleJobError, match="has been deleted"):
        job.wait(timeout=patience.SECONDS)
    assert list(again.logs(follow=True, timeout=patience.SECONDS)) == [
        "worker-0 | again 0 /workspace"
    ]
    assert [repr(each) for each in client.jobs()] == [f"<Job {module_lab.namespace}/greet>"]
    again.restart()
    again.wait(timeout=patience.SECONDS)
    again.delete()
    module_lab.wait(lambda: not code_maps(module_lab), "the code goes with its job")


def test_a_failed_job_raises_its_first_record(client: Client) -> None:
    job = client.train(greet, args={"text": "bye", "code": 3}, name="fails", **WORDS)
    with pytest.raises(paddlejob.JobFailed) as caught:
        job.wait(timeout=patience.SECONDS)
    (said,) = str(caught.value).splitlines()
    assert "the job fails has failed: PodFailed, fails-worker-0" in said and "exit code 3" in said


def test_a_job_is_held_and_goes_on(module_lab: Lab, client: Client, tmp_path: Path) -> None:
    job = client.train(stay, **WORDS)
    module_lab.wait_phase("stay", "Running")
    with pytest.raises(paddlejob.NotInTime, match="timed out"):
        job.wait(timeout=0.1)
    progress = module_lab.wait(lambda: (found := job.progress) and found.step and found, "a step")
    assert (progress.step, progress.total) == (3, 10)
    job.restart()
    module_lab.wait(lambda: module_lab.status("stay").get("attempt") == 2, "a new attempt")
    job.suspend()
    module_lab.wait_phase("stay", "Suspended")
    job.scale(2)
    job.resume()
    module_lab.wait(lambda: len(module_lab.pod_names("stay")) == 2, "two workers")
    job.delete()
    with pytest.raises(paddlejob.PaddleJobError, match="there is no job stay"):
        client.job("stay")


def test_a_file_and_an_object_are_submitted(client: Client, tmp_path: Path) -> None:
    raw = paddle_job("told", {"worker": (1, shell("cat said.txt", image="busybox"))})
    (tmp_path / "said.txt").write_text("from a folder\r\n")
    raw["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "python"
    raw["spec"]["cleanPodPolicy"] = "Never"
    job = client.submit(raw, code=tmp_path)
    assert list(job.logs(follow=True, timeout=patience.SECONDS)) == ["worker-0 | from a folder"]
    file = tmp_path / "job.yaml"
    file.write_text("kind: Pod\napiVersion: v1\n")
    with pytest.raises(paddlejob.NotSendable, match=r"job.yaml:1: v1/Pod, not a PaddleJob"):
        client.submit(file)


def test_what_the_cluster_refuses_is_one_sentence(module_lab: Lab, client: Client) -> None:
    raw = paddle_job("wrong", {"worker": (1, shell("true"))})
    with pytest.raises(paddlejob.Refused, match="wrokers"):
        client.submit({**raw, "spec": {**raw["spec"], "wrokers": 1}})
    with pytest.raises(paddlejob.Refused, match=r"spec.worker.replicas"):
        client.submit({**raw, "spec": {"worker": {**raw["spec"]["worker"], "replicas": -1}}})
    nobody = Client(module_lab.namespace, kubeconfig=write_rights(module_lab, "nobody"))
    with pytest.raises(paddlejob.NotAllowed, match='cannot create resource "paddlejobs"') as caught:
        nobody.submit(raw)
    assert caught.value.__cause__ is None and len(str(caught.value).splitlines()) == 1
    impose(module_lab, "none", **{"count/configmaps": 0})
    try:
        with pytest.raises(paddlejob.QuotaExceeded, match="exceeded quota: none"):
            client.train(greet, args={"text": ""}, name="quota", **WORDS)
    finally:
        module_lab.kubectl("delete", "quota", "none")
    with pytest.raises(paddlejob.PaddleJobError, match="there is no job quota"):
        client.job("quota")


def test_an_image_that_is_not_there(module_lab: Lab, client: Client) -> None:
    job = client.train(greet, args={"text": ""}, image="no/such:image", name="imageless")
    module_lab.wait(
        lambda: "no/such:image" in str(module_lab.condition("imageless", "Pending")), ""
    )
    with pytest.raises(paddlejob.NotInTime, match="no/such:image"):
        job.wait(timeout=0.1)
    job.delete()


def test_a_pod_asks_as_its_service_account(module_lab: Lab, client: Client) -> None:
    write_rights(module_lab, "reader", ("get,list", "paddlejobs"))
    job = paddle_job("inside", {"worker": (1, shell("true"))})
    pod = job["spec"]["worker"]["template"]["spec"]
    pod["serviceAccountName"] = "reader"
    program = "from paddlejob import Client; c = Client(); print(c.namespace, c.job('inside'))"
    # A pod has a temporary folder of its own, and the checkout may lie in that of the machine.
    pod["volumes"] = [{"name": "checkout", "hostPath": {"path": str(CHECKOUT)}}]
    pod["containers"][0] |= {
        "image": "python",
        "command": ["python", "-c", program],
        "env": [{"name": "PYTHONPATH", "value": "/checkout"}],
        "volumeMounts": [{"name": "checkout", "mountPath": "/checkout"}],
    }
    lines = list(client.submit(job).logs(follow=True, timeout=patience.SECONDS))
    assert lines == [f"worker-0 | {module_lab.namespace} <Job {module_lab.namespace}/inside>"]
