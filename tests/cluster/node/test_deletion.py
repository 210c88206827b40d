"""How pods are stopped, and that nothing of them is left, whatever ends the node."""

import os
import signal
from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.live import patience
from tests.live.nodepods import (
    MOUNT,
    NODES,
    Pods,
    container_status,
    host_folder,
    shell,
    volume,
)
from tests.live.processes import command_line, descendants

STUBBORN = "trap '' TERM; echo set; while :; do sleep 0.1; done"
FOR_EVER = int(4 * patience.SECONDS)
"""A grace period that no wait lasts."""
POLITE = "trap 'echo stopping; touch /v/$NAME; exit 0' TERM; echo set; while :; do sleep 0.1; done"


def wait_set(pods: Pods, name: str, container: str = "main") -> None:
    """Wait until a container knows what to do when it is told to stop."""
    pods.wait_ready(name)
    pods.wait_log(name, "set", container=container)


def test_sigterm_lets_a_container_end_itself(pods: Pods, folders: Path) -> None:
    source, folder = host_folder(folders, pods.namespace)
    main = shell(POLITE, env=[{"name": "NAME", "value": "done"}], **MOUNT)
    pods.create("polite", main, terminationGracePeriodSeconds=FOR_EVER, **volume(**source))
    wait_set(pods, "polite")
    pods.delete("polite")
    pods.wait_gone("polite")
    assert (folder / "done").exists()


@pytest.mark.parametrize(
    ("of_the_pod", "of_deletions", "least"),
    [
        pytest.param(2, [None], 2, id="of the pod"),
        pytest.param(FOR_EVER, [1], 1, id="of the deletion"),
        pytest.param(FOR_EVER, [None, 1], 0, id="of a second deletion"),
        pytest.param(FOR_EVER, [0], 0, id="forced"),
    ],
)
def test_sigkill_comes_after_the_grace_period(pods, of_the_pod, of_deletions, least):
    pods.create("stubborn", shell(STUBBORN), terminationGracePeriodSeconds=of_the_pod)
    wait_set(pods, "stubborn")
    started = clock.monotonic()
    for grace in of_deletions[:-1]:
        pods.delete("stubborn", grace)
        pods.wait_event("Killing")
    pods.delete("stubborn", of_deletions[-1])
    pods.wait_gone("stubborn")  # and the fixture sees that no process is left
    assert clock.monotonic() - started >= least


def test_the_pre_stop_hook_comes_before_sigterm(pods: Pods, folders: Path) -> None:
    source, folder = host_folder(folders, pods.namespace)
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "sleep 0.3; touch /v/hook"]}}}
    script = "trap 'ls /v > /v/seen; exit' TERM; echo set; while :; do sleep 0.1; done"
    main = shell(script, lifecycle=hook, **MOUNT)
    pods.create("hooked", main, terminationGracePeriodSeconds=30, **volume(**source))
    wait_set(pods, "hooked")
    pods.delete("hooked")
    pods.wait_gone("hooked")
    assert "hook" in (folder / "seen").read_text().split()


def test_the_status_tells_how_a_deleted_pod_ended(pods: Pods) -> None:
    pods.create("pod", shell("trap 'exit 7' TERM; echo set; while :; do sleep 0.1; done"))
    wait_set(pods, "pod")
    finalizers = {"metadata": {"finalizers": ["example.com/look-first"]}}
    pods.client.patch(f"{pods.path}/pod", finalizers)
    pods.delete("pod")
    pod = pods.wait_phase("pod", "Failed")
    assert container_status(pod)["state"]["terminated"]["exitCode"] == 7
    pods.client.patch(f"{pods.path}/pod", {"metadata": {"finalizers": None}})
    pods.wait_gone("pod")


def test_sidecars_stop_after_the_main_container(pods: Pods, folders: Path) -> None:
    source, folder = host_folder(folders, pods.namespace)
    stop = "trap 'echo {} >> /v/order; exit 0' TERM; echo set; while :; do sleep 0.1; done"
    main = shell(stop.format("main"), **MOUNT)
    sidecar = shell(stop.format("sidecar"), "sidecar", restartPolicy="Always", **MOUNT)
    spec = volume(**source) | {"initContainers": [sidecar], "terminationGracePeriodSeconds": 30}
    pods.create("pod", main, **spec)
    wait_set(pods, "pod")
    wait_set(pods, "pod", "sidecar")
    pods.delete("pod")
    pods.wait_gone("pod")
    assert (folder / "order").read_text().split() == ["main", "sidecar"]


def test_a_pod_that_waits_is_deleted_at_once(pods: Pods) -> None:
    pods.create("waits", shell("exit 0", envFrom=[{"configMapRef": {"name": "absent"}}]))
    pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    pods.delete("waits")
    pods.wait_gone("waits")


def test_what_a_container_leaves_behind_ends_with_it(pods: Pods) -> None:
    pods.create("daemon", shell("setsid sleep 1000 & exit 0"))
    pods.wait_phase("daemon", "Succeeded")


def exist(processes: list[int], lines: list[str]) -> bool:
    return any(
        command_line(process) == line for process, line in zip(processes, lines, strict=True)
    )


@pytest.mark.parametrize("victim", ["node", "spawner"])
def test_no_container_outlives_the_node(pods: Pods, cluster: Cluster, victim: str) -> None:
    node, ready = NODES[1], {}
    for policy in ("Never", "Always"):
        main = shell("sleep 1000 & setsid sleep 1000 & sleep 1000")
        pods.create(policy.lower(), main, nodeName=node, restartPolicy=policy)
        ready[policy] = pods.wait_ready(policy.lower())
    below = descendants(cluster.process(node).pid)
    lines = [command_line(process) for process in below]
    killed = cluster.process(node).pid if victim == "node" else below[1]
    os.kill(killed, signal.SIGKILL)
    assert clock.wait_until(lambda: not exist(below, lines), patience.SECONDS)
    assert clock.wait_until(lambda: node in cluster.dead(), patience.SECONDS)
    cluster.start_component(node)
    never = pods.wait_phase("never", "Failed")
    assert container_status(never)["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert never["status"]["podIP"] == ready["Never"]["status"]["podIP"]
    pods.wait("always", lambda pod: container_status(pod)["restartCount"] == 1)
    pods.wait_ready("always")
