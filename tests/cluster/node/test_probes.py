"""Startup, readiness and liveness probes."""

from pathlib import Path
from typing import Any

from tests.live.nodepods import (
    EMPTY,
    MOUNT,
    Pods,
    condition,
    container_status,
    host_folder,
    python,
    shell,
    volume,
)

FAST = {"periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 10}
LOOKS = {"exec": {"command": ["test", "-e", "/v/mark"]}}


def test_readiness_comes_and_goes(pods: Pods, folders: Path) -> None:
    source, folder = host_folder(folders, pods.namespace)
    mark = folder / "mark"
    container = shell("sleep 600", readinessProbe=FAST | LOOKS, **MOUNT)
    pods.create("pod", container, **volume(**source))
    pod = pods.wait_state("pod", "running")
    assert condition(pod, "Ready") == "False"
    mark.touch()
    pods.wait_ready("pod")
    mark.unlink()
    pods.wait("pod", lambda pod: condition(pod, "Ready") == "False")


HANDLERS: dict[str, dict[str, Any]] = {
    "main": {"httpGet": {"path": "/", "port": "web"}},
    "by-number": {"httpGet": {"path": "/", "port": 8643}},
    "tcp": {"tcpSocket": {"port": 8643}},
}


def test_probes_go_to_the_pods_address(pods: Pods) -> None:
    """The first of the containers listens for all."""
    script = (
        "import http.server as h, os;"
        "h.HTTPServer((os.environ['IP'], 8643), h.SimpleHTTPRequestHandler).serve_forever()"
    )
    address = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    probes = {name: {"readinessProbe": FAST | each} for name, each in HANDLERS.items()}
    ports = [{"name": "web", "containerPort": 8643}]
    main = python(script, env=[address], ports=ports, **probes.pop("main"))
    others = [shell("sleep 600", name, **probe) for name, probe in probes.items()]
    pods.create("pod", main, *others)
    pods.wait_ready("pod")


def test_a_failed_liveness_probe_restarts(pods: Pods) -> None:
    """Once it heeds SIGTERM: its first process would not notice one before."""
    probe = FAST | {"exec": {"command": ["test", "!", "-e", "/v/heeds"]}}
    heeds_sigterm = "trap 'exit 143' TERM; touch /v/heeds; sleep 3600 & wait"
    main = shell(heeds_sigterm, livenessProbe=probe, **MOUNT)
    pods.create("pod", main, restartPolicy="Always", **EMPTY)
    pod = pods.wait("pod", lambda pod: container_status(pod).get("restartCount", 0) >= 1)
    assert container_status(pod)["lastState"]["terminated"]["exitCode"] == 143
    assert "failed liveness probe" in pods.wait_event("Killing")


def test_a_startup_probe_holds_the_others_back(pods: Pods, folders: Path) -> None:
    source, folder = host_folder(folders, pods.namespace)
    mark = folder / "mark"
    startup = {"periodSeconds": 1, "timeoutSeconds": 10, "failureThreshold": 200, **LOOKS}
    probes = {"startupProbe": startup, "livenessProbe": FAST | LOOKS}
    container = shell("sleep 600", **MOUNT, **probes)
    pods.create("pod", container, restartPolicy="Always", **volume(**source))
    pod = pods.wait_state("pod", "running")
    assert container_status(pod)["started"] is False
    pods.wait_event("Unhealthy")
    mark.touch()
    pod = pods.wait_ready("pod")
    assert container_status(pod)["restartCount"] == 0


def test_a_probe_that_hangs_counts_as_failed(pods: Pods) -> None:
    probe = FAST | {"timeoutSeconds": 1, "exec": {"command": ["sleep", "60"]}}
    pods.create("pod", shell("sleep 3600", readinessProbe=probe))
    said = 'Readiness probe failed: command timed out: "sleep 60" timed out after 1s'
    assert pods.wait_event("Unhealthy") == said
