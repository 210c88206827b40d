"""Under which address and port each pod is reached."""

import pytest

from api.constants import Role
from api.objects import Raw
from reconcile.objects.addresses import endpoints_of, format_endpoint, host_of
from tests.memory.builders import a_job, a_pod, a_template, view_of


def template_with_port(value: str, container: str = "paddle") -> Raw:
    template = a_template()
    env = [{"name": "PADDLE_PORT", "value": value}]
    template["spec"]["containers"].append({"name": container, "image": "i", "env": env})
    return template


PORTS = {
    "default": (a_template(), 36000),
    "first-container-where-none-is-named-paddle": (
        {"spec": {"containers": [{"name": "a", "env": [{"name": "PADDLE_PORT", "value": "7"}]}]}},
        7,
    ),
    "not-a-sidecars": (template_with_port("30236", "sidecar"), 36000),
    "not-a-reference": (template_with_port("$(OTHER)", "x"), 36000),
}


@pytest.mark.parametrize(("template", "port"), PORTS.values(), ids=PORTS)
def test_port_is_the_trainers_own(template, port):
    job = a_job().with_workers(1, template).build()
    assert view_of(job).port == port


def test_port_of_one_role_is_the_port_of_all():
    template = a_template()
    template["spec"]["containers"][0]["env"] = [{"name": "PADDLE_PORT", "value": "30236"}]
    job = a_job().with_ps(1, template).with_workers(1, template).build()
    view = view_of(job, a_pod(job, Role.PS).running())
    assert endpoints_of(view, Role.PS) == ["10.0.0.1:30236"]


def test_pod_without_address_has_no_host():
    job = a_job().with_workers(1).build()
    assert host_of(view_of(job, a_pod(job).bound()), "train-worker-0") == ""


def test_endpoints_stand_in_index_order():
    job = a_job().with_workers(11).build()
    pods = [a_pod(job, index=index).running() for index in reversed(range(11))]
    hosts = [f"10.0.1.{index + 1}:36000" for index in range(11)]
    assert endpoints_of(view_of(job, *pods), Role.WORKER) == hosts


@pytest.mark.parametrize(
    ("host", "text"), [("10.0.0.1", "10.0.0.1:1"), ("fd00::1", "[fd00::1]:1"), ("a.b", "a.b:1")]
)
def test_ipv6_hosts_are_bracketed(host, text):
    assert format_endpoint(host, 1) == text
