"""A pod that comes back has another address: ConfigMap and gang follow, nobody keeps the old."""

import pytest

from tests.live.history import History
from tests.live.lab import CORE, Lab, paddle_job, shell

TELLS = shell('echo "$PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_TRAINER_ENDPOINTS"; exec sleep 3600')
ROLES = {"ps": (1, TELLS), "worker": (2, TELLS)}
LOST = {"worker-lost": "worker-lost-worker-0", "server-lost": "server-lost-ps-0",
        "named": "named-worker-1"}  # fmt: skip


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, pod_history: History) -> Lab:
    for name in LOST:
        intranet = "Service" if name == "named" else "PodIP"
        module_lab.submit(paddle_job(name, ROLES, intranet=intranet))
    module_lab.wait_all(LOST, "Running")
    module_lab.kubectl("delete", "pod", "--wait=false", *LOST.values())
    for name in LOST:
        module_lab.wait(lambda name=name: module_lab.status(name)["attempt"] == 2, f"{name} ends")
    module_lab.wait_all(LOST, "Running")
    return module_lab


def first_addresses(history: History, job: str) -> set[str]:
    found = set()
    for _, pod in history.events(f"{job}-"):
        if pod["metadata"]["labels"]["batch.paddlepaddle.org/attempt"] == "1":
            found.add(pod["status"].get("podIP", ""))
    return found - {""}


def endpoints(jobs: Lab, job: str, role: str) -> str:
    """Where the living pods of a role are reached."""
    return ",".join(
        f"{pod['metadata']['name']}.{jobs.namespace}:36000"
        if job == "named"
        else f"{pod['status']['podIP']}:36000"
        for pod in jobs.pods(job, role)
    )


@pytest.mark.parametrize("job", LOST)
def test_next_attempt_has_other_addresses(jobs: Lab, pod_history: History, job: str) -> None:
    now = {pod["status"]["podIP"] for pod in jobs.pods(job)}
    before = first_addresses(pod_history, job)
    assert (len(now), len(before)) == (3, 3)
    assert not now & before


@pytest.mark.parametrize("job", LOST)
def test_config_map_is_the_attempts_own(jobs: Lab, job: str) -> None:
    maps = jobs.items(CORE, "configmaps", f"batch.paddlepaddle.org/job-name={job}")
    assert [each["metadata"]["name"] for each in maps] == [f"{job}-attempt-2"]
    assert maps[0]["immutable"] is True
    assert maps[0]["data"]["PADDLE_TRAINER_ENDPOINTS"] == endpoints(jobs, job, "worker")
    assert maps[0]["data"]["PADDLE_PSERVERS_IP_PORT_LIST"] == endpoints(jobs, job, "ps")


@pytest.mark.parametrize("job", LOST)
def test_every_process_was_told_the_living(jobs: Lab, job: str) -> None:
    told = f"{endpoints(jobs, job, 'ps')} {endpoints(jobs, job, 'worker')}\n"
    for pod in jobs.pod_names(job):
        jobs.wait(lambda pod=pod: jobs.log(pod), f"words of {pod}")
        assert jobs.log(pod) == told
