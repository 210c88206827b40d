"""Startup, readiness and liveness probes."""

from typing import Any

import pytest

from tests.nodepods import Pods, condition, container_status, python, shell

FAST = {"periodSeconds": 1, "failureThreshold": 1}


def test_readiness_comes_and_goes(pods: Pods) -> None:
    script = "sleep 1; touch /tmp/ready; sleep 3; rm /tmp/ready; sleep 60"
    probe = FAST | {"exec": {"command": ["test", "-e", "/tmp/ready"]}}
    pods.create("pod", shell(script, readinessProbe=probe))
    pod = pods.wait_state("pod", "running")
    assert condition(pod, "Ready") == "False"
    pods.wait_ready("pod")
    pods.wait("pod", lambda pod: condition(pod, "Ready") == "False")


HANDLERS = [
    pytest.param({"httpGet": {"path": "/", "port": 18643}}, id="httpGet"),
    pytest.param({"httpGet": {"path": "/", "port": "web"}}, id="httpGet by the port's name"),
    pytest.param({"tcpSocket": {"port": 18643}}, id="tcpSocket"),
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_probes_go_to_the_pods_address(pods: Pods, handler: dict[str, Any]) -> None:
    address = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    script = (
        "import http.server as h, os;"
        "h.HTTPServer((os.environ['IP'], 18643), h.SimpleHTTPRequestHandler).serve_forever()"
    )
    ports = [{"name": "web", "containerPort": 18643}]
    container = python(script, env=[address], ports=ports, readinessProbe=FAST | handler)
    pods.create("pod", container)
    pods.wait_ready("pod")


def test_a_failed_liveness_probe_restarts(pods: Pods) -> None:
    probe = FAST | {"exec": {"command": ["false"]}}
    pods.create("pod", shell("sleep 60", livenessProbe=probe), restartPolicy="Always")
    pod = pods.wait("pod", lambda pod: container_status(pod).get("restartCount", 0) >= 1)
    assert container_status(pod)["lastState"]["terminated"]["exitCode"] == 143
    assert "failed liveness probe" in " ".join(pods.events("Killing"))


def test_a_startup_probe_holds_the_others_back(pods: Pods) -> None:
    startup = {"periodSeconds": 1, "failureThreshold": 60}
    startup |= {"exec": {"command": ["test", "-e", "/tmp/up"]}}
    liveness = FAST | {"exec": {"command": ["test", "-e", "/tmp/up"]}}
    container = shell(
        "sleep 2.5; touch /tmp/up; sleep 60", startupProbe=startup, livenessProbe=liveness
    )
    pods.create("pod", container, restartPolicy="Always")
    pod = pods.wait_state("pod", "running")
    assert container_status(pod)["started"] is False
    pod = pods.wait_ready("pod")
    assert container_status(pod)["restartCount"] == 0


def test_a_probe_that_hangs_counts_as_failed(pods: Pods) -> None:
    probe = FAST | {"timeoutSeconds": 1, "exec": {"command": ["sleep", "60"]}}
    pods.create("pod", shell("sleep 60", readinessProbe=probe))
    assert "did not end within 1 s" in pods.wait_event("Unhealthy")
