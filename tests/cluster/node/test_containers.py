"""How containers start, end and start again, against what a kubelet does."""

import ipaddress
import json
import re
from pathlib import Path

import pytest

from api.objects import Raw
from localcluster.client.informer import Informer
from localcluster.machine import clock
from tests.live import patience
from tests.live.nodepods import (
    BACKOFF_SECONDS,
    EMPTY,
    IMAGE,
    MOUNT,
    Pods,
    condition,
    container_status,
    python,
    shell,
)

ABSENT = "localhost/nothing:1"
HEEDS_SIGTERM = "trap 'exit 143' TERM;"
"""The first process of a PID namespace ends by no signal that it does not handle."""
ENDS = [
    pytest.param(shell("exit 0"), "Succeeded", 0, "Completed", id="success"),
    pytest.param(shell("exit 3"), "Failed", 3, "Error", id="exit code"),
    pytest.param(shell("kill -9 $$$$"), "Failed", 137, "Error", id="SIGKILL is no OOM"),
    pytest.param(shell("kill -15 $$$$"), "Failed", 143, "Error", id="SIGTERM"),
    pytest.param(shell("kill -11 $$$$"), "Failed", 139, "Error", id="segmentation fault"),
    pytest.param(
        python(
            "x = b'1' * 300_000_000; import time; time.sleep(60)",
            resources={"limits": {"memory": "100Mi"}},
        ),
        "Failed",
        137,
        "OOMKilled",
        id="memory over its limit",
    ),
    pytest.param(
        {"name": "main", "image": IMAGE, "command": ["no-such-program"]},
        "Failed",
        128,
        "StartError",
        id="no such program",
    ),
]


@pytest.mark.parametrize(("container", "phase", "code", "reason"), ENDS)
def test_how_a_container_ended_is_told(pods, container, phase, code, reason):
    pods.create("ends", container)
    pod = pods.wait_phase("ends", "Succeeded", "Failed")
    terminated = container_status(pod)["state"]["terminated"]
    assert (pod["status"]["phase"], terminated["exitCode"], terminated["reason"]) == (
        phase,
        code,
        reason,
    )


def test_a_run_has_its_times_and_id(pods: Pods) -> None:
    pods.create("times", shell("sleep 1.1"))
    status = container_status(pods.wait_phase("times", "Succeeded"))
    terminated = status["state"]["terminated"]
    assert terminated["startedAt"] < terminated["finishedAt"]
    assert terminated["containerID"] == status["containerID"] != ""
    assert "sha256:" in status["imageID"]


def test_a_running_pod_is_ready_and_started(pods: Pods) -> None:
    pods.create("runs", shell("sleep 3600"))
    pod = pods.wait_ready("runs")
    status = container_status(pod)
    assert pod["status"]["phase"] == "Running"
    assert (status["ready"], status["started"], status["restartCount"]) == (True, True, 0)
    assert all(
        condition(pod, kind) == "True"
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers")
    )


def test_containers_of_a_pod_run_side_by_side(pods: Pods) -> None:
    wait_for_other = "touch /v/$0; until [ -e /v/$1 ]; do sleep 0.05; done"
    first = shell(wait_for_other, "first", args=["a", "b"], **MOUNT)
    second = shell(wait_for_other, "second", args=["b", "a"], **MOUNT)
    pods.create("pair", first, second, **EMPTY)
    pods.wait_phase("pair", "Succeeded")


def test_init_containers_run_in_order_before_the_main_one(pods: Pods) -> None:
    inits = [
        shell("sleep 0.3; echo 1 >> /v/order", "one", **MOUNT),
        shell("echo 2 >> /v/order", "two", **MOUNT),
    ]
    main = shell("echo 3 >> /v/order; cat /v/order", **MOUNT)
    assert pods.run(main, initContainers=inits, **EMPTY).split() == ["1", "2", "3"]


def test_a_failed_init_container_fails_the_pod(pods: Pods) -> None:
    inits = [shell("exit 4", "setup"), shell("exit 0", "never")]
    pods.create("failed", shell("exit 0"), initContainers=inits)
    pod = pods.wait_phase("failed", "Failed")
    assert container_status(pod, "setup")["state"]["terminated"]["exitCode"] == 4
    for name in ("never", "main"):
        assert container_status(pod, name)["state"]["waiting"]["reason"] == "PodInitializing"


def test_a_sidecar_starts_first_and_does_not_keep_the_pod(pods: Pods) -> None:
    sidecar = shell(
        "trap 'echo told to stop; exit 0' TERM; touch /v/up; while :; do sleep 0.1; done",
        "sidecar",
        restartPolicy="Always",
        **MOUNT,
    )
    main = shell("until [ -e /v/up ]; do sleep 0.1; done", **MOUNT)
    pods.create("pod", main, initContainers=[sidecar], **EMPTY)
    pod = pods.wait_phase("pod", "Succeeded", "Failed")
    assert pod["status"]["phase"] == "Succeeded"
    began = [
        container_status(pod, name)["state"]["terminated"]["startedAt"]
        for name in ("sidecar", "main")
    ]
    assert began == sorted(began)
    assert pods.wait_log("pod", "stop", container="sidecar") == "told to stop\n"


def test_a_sidecar_that_ends_is_restarted(pods: Pods) -> None:
    sidecar = shell("sleep 0.1", "sidecar", restartPolicy="Always")
    pods.create("pod", shell("sleep 3600"), initContainers=[sidecar])
    pods.wait("pod", lambda pod: container_status(pod, "sidecar").get("restartCount", 0) >= 1)


def test_on_failure_restarts_until_success(pods: Pods) -> None:
    script = "[ -e /v/$0 ] || { touch /v/$0; exit 1; }"
    setup, main = (shell(script, name, args=[name], **MOUNT) for name in ("setup", "main"))
    pods.create("again", main, initContainers=[setup], restartPolicy="OnFailure", **EMPTY)
    pod = pods.wait_phase("again", "Succeeded")
    assert [container_status(pod, name)["restartCount"] for name in ("setup", "main")] == [1, 1]
    assert container_status(pod)["lastState"]["terminated"]["exitCode"] == 1


def test_each_end_is_shown_before_the_container_starts_again(pods: Pods) -> None:
    """Whether or not it has to wait: who watches the pod sees every end."""
    ends: list[int] = []

    def note(_kind: str, pod: Raw) -> None:
        status = container_status(pod)
        if "terminated" in status.get("state", {}):
            ends.append(status["restartCount"])

    path = f"/api/v1/namespaces/{pods.namespace}/pods"
    informer = Informer(pods.client, path, lambda _: None, note)
    informer.start()
    try:
        assert informer.synced.wait(patience.SECONDS)
        pods.create("ends", shell("exit 1"), restartPolicy="OnFailure")
        assert clock.wait_until(lambda: set(ends) >= {0, 1, 2}, patience.SECONDS), ends
    finally:
        informer.stop()
        informer.join()


def test_a_crash_loop_backs_off(pods: Pods) -> None:
    pods.create("crash", shell("exit 1"), restartPolicy="Always")
    pod = pods.wait_state("crash", "waiting", "CrashLoopBackOff")
    status = container_status(pod)
    assert status["restartCount"] >= 1
    assert status["lastState"]["terminated"]["exitCode"] == 1
    # Who looks late sees a later back-off, which is longer.
    back_offs = "|".join(f"{BACKOFF_SECONDS * 2**n:g}" for n in range(8))
    said = rf"back-off ({back_offs})s restarting failed container=main pod=crash_.*"
    assert re.fullmatch(said, status["state"]["waiting"]["message"])
    assert pod["status"]["phase"] == "Running"


FALL_BACK = {"terminationMessagePolicy": "FallbackToLogsOnError"}
MESSAGES = {
    "written": ("echo why > /dev/termination-log; exit 1", {}, "why\n"),
    "path": ("echo why > /tmp/why; exit 1", {"terminationMessagePath": "/tmp/why"}, "why\n"),
    "none": ("echo logged; exit 1", {}, None),
    "log-on-error": ("echo logged; exit 1", FALL_BACK, "logged\n"),
    "no-log-on-success": ("echo logged; exit 0", FALL_BACK, None),
}


def test_termination_message(pods: Pods) -> None:
    containers = [shell(script, name, **more) for name, (script, more, _) in MESSAGES.items()]
    pods.create("says", *containers)
    pod = pods.wait_phase("says", "Failed")
    ends = {name: container_status(pod, name)["state"]["terminated"] for name in MESSAGES}
    said = {name: end.get("message") for name, end in ends.items()}
    assert said == {name: message for name, (_, _, message) in MESSAGES.items()}


def test_an_unknown_image_is_not_pulled(pods: Pods) -> None:
    pods.create("unknown", {"name": "main", "image": ABSENT})
    pods.wait_state("unknown", "waiting", "ErrImagePull")
    pod = pods.wait_state("unknown", "waiting", "ImagePullBackOff")
    message = container_status(pod)["state"]["waiting"]["message"]
    assert message.startswith(f'Back-off pulling image "{ABSENT}": ErrImagePull: ')
    assert pod["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param(
            {"image": ABSENT, "imagePullPolicy": "Never"}, "ErrImageNeverPull", id="never"
        ),
        pytest.param({"image": "Not//A:Name"}, "InvalidImageName", id="malformed"),
    ],
)
def test_an_image_that_cannot_be_had_is_told(pods, fields, reason):
    pods.create("never", {"name": "main", **fields})
    pods.wait_state("never", "waiting", reason)


def test_an_image_that_appears_is_pulled(pods: Pods, images: Path) -> None:
    pods.create("late", {"name": "main", "image": "late"})
    pod = pods.wait_state("late", "waiting", "ErrImagePull")
    assert "not in the image table" in container_status(pod)["state"]["waiting"]["message"]
    images.write_text("images: {late: {command: [echo, here]}}\n")
    pods.wait_phase("late", "Succeeded")
    assert pods.log("late") == "here\n"


def test_an_image_brings_its_program(pods: Pods, images: Path) -> None:
    program = images.parent / "program"
    program.mkdir()
    (program / "hello.sh").write_text("echo hello from $PWD\ntouch made-here\n")
    table = {
        "images": {"demo": {"folders": {"/workspace": "program"}, "command": ["sh", "hello.sh"]}}
    }
    images.write_text(json.dumps(table))
    assert pods.run({"name": "main", "image": "demo:v2"}) == "hello from /workspace\n"
    assert [each.name for each in program.iterdir()] == ["hello.sh"]


def test_a_missing_config_map_is_waited_for_with_an_address(pods: Pods) -> None:
    source = {"envFrom": [{"configMapRef": {"name": "later"}}]}
    pods.create("waits", shell("echo $A", **source))
    pod = pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    waiting = container_status(pod)["state"]["waiting"]
    assert waiting["message"] == 'configmap "later" not found'
    assert ipaddress.ip_address(pod["status"]["podIP"])
    pods.create_config_map("later", A="there")
    pods.wait_phase("waits", "Succeeded")
    assert pods.log("waits") == "there\n"


def test_a_missing_key_is_told(pods: Pods) -> None:
    pods.create_config_map("config", A="1")
    source = {"configMapKeyRef": {"name": "config", "key": "B"}}
    pods.create("waits", shell("exit 0", env=[{"name": "B", "valueFrom": source}]))
    pod = pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    assert container_status(pod)["state"]["waiting"]["message"] == (
        f"couldn't find key B in ConfigMap {pods.namespace}/config"
    )


def test_a_pod_past_its_deadline_fails(pods: Pods) -> None:
    pods.create("slow", shell(f"{HEEDS_SIGTERM} sleep 300 & wait"), activeDeadlineSeconds=5)
    pod = pods.wait_phase("slow", "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert container_status(pod)["state"]["terminated"]["exitCode"] == 143


def test_what_happens_to_a_pod_stands_in_its_events(pods: Pods) -> None:
    pods.create("told", shell("exit 0"))
    pods.wait_phase("told", "Succeeded")
    assert pods.wait_event("Created") == "Container created"
    assert pods.wait_event("Started") == "Container started"
    present = f'Container image "{IMAGE}" already present on machine and can be accessed by the pod'
    assert pods.wait_event("Pulled") == present


@pytest.mark.training
def test_an_image_with_paddlepaddle_3_has_it_and_an_event_says_what_stands_for_it(
    pods: Pods,
) -> None:
    image, version = "paddlepaddle/paddle:3.1.0", "import paddle; print(paddle.__version__)"
    told = pods.run({"name": "main", "image": image, "command": ["python", "-c", version]})
    assert told.splitlines()[-1] == "3.3.1"
    assert re.search(rf"PaddlePaddle 3\.3\.1 .* {image}$", pods.wait_event("StandIn"))


def test_pip_in_a_pod_changes_nothing_that_other_pods_use(pods: Pods, images: Path) -> None:
    """The package is made on the spot: no index is asked."""
    images.write_text("images: {train: {environment: examples}}")
    package = "mkdir p; echo 'from setuptools import setup; setup(name=\"intruder\")' > p/setup.py"
    install = "pip install --no-build-isolation --no-deps --no-index ./p 2>&1 && exit 3; "
    look = f"cd /tmp; {package}; {install} pip list 2>/dev/null | grep intruder; exit 0"
    log = pods.run(shell(look) | {"image": "train"})
    assert "Read-only file system" in log
    assert not log.rstrip().endswith("intruder")
