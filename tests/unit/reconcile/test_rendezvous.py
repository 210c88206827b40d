"""The attempt's ConfigMap: what all pods are told, and when."""

import pytest

from api.constants import Role
from reconcile.objects.rendezvous import all_have_addresses, build_variables, oversized_variable
from tests.memory.builders import JobBuilder, a_job, a_pod, view_of


def variables(job: JobBuilder) -> dict[str, str]:
    """What the ConfigMap tells once all pods are placed."""
    raw = job.build()
    roles = {role: raw["spec"][str(role)]["replicas"] for role in Role if str(role) in raw["spec"]}
    pods = [a_pod(raw, role, i).running() for role, count in roles.items() for i in range(count)]
    return build_variables(view_of(raw, *pods))


@pytest.mark.parametrize(
    ("job", "nodes", "address", "port"),
    [
        pytest.param(a_job().with_workers(2), "2", "10.0.1.1", "36000", id="PodIP"),
        pytest.param(a_job().with_workers(1), "1", "10.0.1.1", "36000", id="one-worker"),
        pytest.param(
            a_job().with_workers(2).with_spec(intranet="Service"),
            *("2", "train-worker-0.default", "36000"),
            id="Service",
        ),
        pytest.param(
            a_job()
            .with_workers(1)
            .with_spec(intranet="Host")
            .with_status(hostPorts={"train-worker-0": 30200}),
            *("1", "10.0.1.1", "30200"),
            id="Host",
        ),
    ],
)
def test_command_lines_find_worker_0(job, nodes, address, port):
    told = variables(job)
    assert (told["NNODES"], told["MASTER_ADDR"], told["MASTER_PORT"]) == (nodes, address, port)
    assert not {"WORLD_SIZE", "PADDLE_MASTER", "PADDLE_NNODES"} & set(told)


def test_command_lines_get_the_brackets_of_an_ipv6_host():
    raw = a_job().with_workers(1).build()
    told = build_variables(view_of(raw, a_pod(raw, Role.WORKER, 0).running(address="fd00::1")))
    assert (told["MASTER_ADDR"], told["MASTER_PORT"]) == ("[fd00::1]", "36000")


def test_job_with_servers_has_no_master():
    assert not {"NNODES", "MASTER_ADDR", "MASTER_PORT"} & set(
        variables(a_job().with_ps(1).with_workers(2))
    )


@pytest.mark.parametrize("with_gloo", [0, 1, 2], ids=["off", "workers", "workers-and-servers"])
def test_gloo_is_told_where_there_are_servers(with_gloo):
    found = variables(a_job().with_ps(1).with_workers(1).with_spec(withGloo=with_gloo))
    assert found["PADDLE_WITH_GLOO"] == str(with_gloo)
    assert ("PADDLE_GLOO_HTTP_ENDPOINT" in found) == (with_gloo != 0)


JOB = a_job().with_workers(2).build()


WAITS = {
    "placed": (a_pod(JOB, index=1).bound().with_address("10.0.1.2"), True),
    "no-address": (a_pod(JOB, index=1).bound(), False),
    "deleting": (a_pod(JOB, index=1).bound().with_address("10.0.1.2").deleting(), False),
    "failed": (a_pod(JOB, index=1).ended(1), False),
    "ended-well": (a_pod(JOB, index=1).bound().with_address("10.0.1.2").ended(0), True),
    "of-another-attempt": (a_pod(JOB, index=1, attempt=2).bound().with_address("10.0.1.2"), False),
}


@pytest.mark.parametrize(("pod", "ready"), WAITS.values(), ids=WAITS)
def test_config_map_waits_for_every_address(pod, ready):
    job = a_job().with_workers(2).with_status(attempt=1).build()
    view = view_of(job, a_pod(JOB).bound().with_address("10.0.1.1"), pod)
    assert all_have_addresses(view) == ready


@pytest.mark.parametrize(("size", "name"), [(131_000, None), (131_001, "LIST")])
def test_value_that_the_kernel_refuses_is_found(size, name):
    assert oversized_variable({"LIST": "x" * size}) == name


def test_job_with_too_many_endpoints_fails_with_the_reason(world, monkeypatch):
    monkeypatch.setattr("reconcile.objects.rendezvous.MAX_ENV_VALUE_BYTES", 20)
    world.run(a_job().with_workers(2))
    assert world.condition("Failed")["reason"] == "EndpointsTooLong"
    assert world.names("ConfigMap") == []
