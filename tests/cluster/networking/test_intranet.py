"""How the pods of a job reach each other: by the names of Services, or on the hosts' network."""

import pytest

from tests.live.lab import CORE, Lab, environment_of, paddle_job, shell

SERVE = """
import os, socket, time
host, port = os.environ["PADDLE_CURRENT_ENDPOINT"].rsplit(":", 1)
while True:
    try:
        server = socket.create_server((host, int(port)))
        break
    except OSError:  # a launcher that trains meanwhile has this port on all addresses
        time.sleep(0.1)
callers = []
while True:
    callers.append(server.accept()[0])
    if len(callers) == int(os.environ["PADDLE_TRAINERS_NUM"]):
        while callers:
            callers.pop().close()
"""
"""Holds its callers until all are there: the name of a worker that has ended resolves no more."""
CALL = """
import os, socket, time
for endpoint in os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(","):
    host, port = endpoint.rsplit(":", 1)
    while True:
        try:
            with socket.create_connection((host, int(port))) as held:
                held.recv(1)
            break
        except OSError:
            time.sleep(0.1)
for name, value in os.environ.items():
    print(f"{name}={value}")
"""
NAMED_PODS = ["named-ps-0", "named-worker-0", "named-worker-1"]


def python(script: str, **pod_spec: object) -> dict:
    container = {"name": "paddle", "image": "python", "command": ["python", "-c", script]}
    return {"spec": {"containers": [container], **pod_spec}}


def resolving_worker(namespace: str) -> dict:
    """A worker whose init container waits for the names of all pods, none of them ready yet."""
    names = " ".join([f"{name}.{namespace}" for name in NAMED_PODS] + NAMED_PODS)
    script = f"for name in {names}; do until getent hosts $name; do sleep 0.1; done; done"
    init = {"name": "resolve", "image": "busybox", "command": ["sh", "-c", script]}
    return python(CALL, initContainers=[init])


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """Jobs of both kinds at once; those on the hosts' network share a node."""
    worker = resolving_worker(module_lab.namespace)
    on_one_node = {"nodeSelector": {"kubernetes.io/hostname": "node-0"}}
    hosts = {"ps": (2, python(SERVE, **on_one_node)), "worker": (1, python(CALL, **on_one_node))}
    kept = {"cleanPodPolicy": "Never"}
    module_lab.submit(
        paddle_job(
            "named", {"ps": (1, python(SERVE)), "worker": (2, worker)}, intranet="Service", **kept
        ),
        paddle_job("host-a", hosts, intranet="Host", **kept),
        paddle_job("host-b", hosts, intranet="Host", **kept),
        paddle_job("spread", {"worker": (3, shell("env"))}, intranet="Host", **kept),
    )
    return module_lab


def test_service_names_resolve_before_pods_are_ready(jobs: Lab) -> None:
    jobs.wait_completed("named")


def test_service_is_headless_and_one_per_pod(jobs: Lab) -> None:
    jobs.wait_completed("named")
    services = {s["metadata"]["name"]: s["spec"] for s in jobs.items(CORE, "services")}
    assert sorted(services) == NAMED_PODS
    assert {spec["clusterIP"] for spec in services.values()} == {"None"}
    assert all(spec["publishNotReadyAddresses"] for spec in services.values())


def test_service_endpoints_are_names_with_the_namespace(jobs: Lab) -> None:
    jobs.wait_completed("named")
    told = environment_of(jobs.log("named-worker-1"))
    where = jobs.namespace
    assert told["PADDLE_PSERVERS_IP_PORT_LIST"] == f"named-ps-0.{where}:36000"
    assert told["PADDLE_TRAINER_ENDPOINTS"] == (
        f"named-worker-0.{where}:36000,named-worker-1.{where}:36000"
    )
    assert told["POD_IP"] == f"named-worker-1.{where}"


@pytest.mark.parametrize("name", ["host-a", "host-b"])
def test_host_pods_of_two_jobs_share_a_node(jobs: Lab, name: str) -> None:
    jobs.wait_completed(name)
    assert all(pod["spec"]["hostNetwork"] for pod in jobs.pods(name))
    assert {pod["spec"]["nodeName"] for pod in jobs.pods(name)} == {"node-0"}


def test_host_workers_of_a_collective_job_land_on_different_nodes(jobs: Lab) -> None:
    jobs.wait_completed("spread")
    assert len({pod["spec"]["nodeName"] for pod in jobs.pods("spread")}) == 3
