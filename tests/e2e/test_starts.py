"""How fast a job starts on a real kubelet, and how fast it comes back.

The bounds are those of a quiet machine of two cores. Elsewhere a node may take longer for pods that
nobody has to tell anything: beside each of our trials, four such pods start too.
"""

import statistics
import time
from collections.abc import Callable

import pytest

from api.constants import LABEL_ATTEMPT
from tests.e2e.jobs import SLEEP, template
from tests.e2e.node import RealNode
from tests.e2e.steps import seconds_to_config_map, steps_since
from tests.live.history import History
from tests.live.lab import CORE, PADDLE_JOBS, Lab, Raw, paddle_job

TRIALS = 3
START_P50, START_WORST = 2.5, 4.0
"""Seconds from a job's creation until all of its 2 + 2 pods run."""
LOOKS = 2.0
"""Seconds beyond pods alone: a kubelet tells the addresses at one of its looks, of which there is
one a second, and starts the pods that were woken at another."""
CONFIG_MAP_P50 = 0.3
"""Seconds from the last pod's address to the ConfigMap."""
RETURN_P50 = 6.0
"""Seconds from the loss of a pod until all pods of the first restart run."""
STOP = 3.0
"""Of these, seconds until the attempt's other pods are gone."""


def alone(lab: Lab, name: str) -> float:
    """Seconds from the creation of four pods of no job until all run."""
    pods = f"{CORE}/namespaces/{lab.namespace}/pods"
    labels = {"alone": name}
    began = time.monotonic()
    for number in range(4):
        metadata = {"name": f"{name}-{number}", "labels": labels}
        lab.cluster.client.create(pods, {"metadata": metadata, **template(SLEEP)})

    def phases() -> list[str]:
        found = lab.items(CORE, "pods", f"alone={name}")
        return [pod["status"].get("phase", "") for pod in found]

    lab.wait(lambda: phases() == ["Running"] * 4, f"{name} run")
    took = time.monotonic() - began
    lab.kubectl("delete", "pods", "--selector", f"alone={name}")
    return took


def submit(lab: Lab, name: str, **spec: object) -> float:
    job = paddle_job(name, {"ps": (2, template(SLEEP)), "worker": (2, template(SLEEP))}, **spec)
    began = time.monotonic()
    lab.cluster.client.create(f"{PADDLE_JOBS}/namespaces/{lab.namespace}/paddlejobs", job)
    wait_running(lab, name, 1)
    return time.monotonic() - began


def running(lab: Lab, name: str, attempt: int) -> list[Raw]:
    return [
        pod
        for pod in lab.pods(name)
        if pod["status"].get("phase") == "Running"
        and pod["metadata"]["labels"][LABEL_ATTEMPT] == str(attempt)
        and "deletionTimestamp" not in pod["metadata"]
    ]


def wait_running(lab: Lab, name: str, attempt: int) -> None:
    lab.wait(lambda: len(running(lab, name, attempt)) == 4, f"{name}: attempt {attempt} runs")


def end(lab: Lab, name: str) -> None:
    lab.kubectl("delete", "pdj", name)
    lab.wait(lambda: not lab.pods(name), f"{name} is gone")


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_starts(lab: Lab, intranet: str, record_property) -> None:
    seconds, bare, waits = [], [], []
    with History(lab, CORE, "pods") as pods, History(lab, CORE, "configmaps") as config_maps:
        for trial in range(TRIALS):
            bare.append(alone(lab, f"alone-{trial}"))
            seconds.append(submit(lab, f"start-{trial}", intranet=intranet))
            waits.append(seconds_to_config_map(pods, config_maps, f"start-{trial}"))
            end(lab, f"start-{trial}")
    record_property("seconds", [round(each, 2) for each in seconds])
    record_property("seconds of pods alone", [round(each, 2) for each in bare])
    record_property("seconds to the ConfigMap", [round(each, 2) for each in waits])
    assert statistics.median(seconds) <= max(START_P50, statistics.median(bare) + LOOKS)
    assert max(seconds) <= max(START_WORST, max(bare) + 2 * LOOKS)
    assert statistics.median(waits) <= CONFIG_MAP_P50


def exit_code(node: RealNode, lab: Lab, pod: Raw) -> None:
    lab.kubectl("exec", pod["metadata"]["name"], "--", "touch", "/fail")


def deleted_pod(node: RealNode, lab: Lab, pod: Raw) -> None:
    lab.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")


def killed_sandbox(node: RealNode, lab: Lab, pod: Raw) -> None:
    """The pod's sandbox dies, and with it its address."""
    uid = pod["metadata"]["uid"]
    lines = node.ctr("containers", "list", 'labels."io.kubernetes.pod.uid"==' + uid).splitlines()
    sandbox = next(line.split()[0] for line in lines if "pause" in line)
    node.ctr("tasks", "kill", "--signal=SIGKILL", sandbox)


# Who is stopped with its sandbox has not ended well.
FAILING = "trap 'exit 143' TERM; while [ ! -e /fail ]; do sleep 0.1; done; exit 3"
LOSSES = [exit_code, deleted_pod, killed_sandbox]


def test_losses(node: RealNode, lab: Lab, record_property) -> None:
    seconds, bare = [], []
    for number, loss in enumerate(LOSSES):
        bare.append(alone(lab, f"alone-{number}"))
        took, steps = lose(node, lab, f"lost-{number}", loss)
        seconds.append(took)
        record_property(f"seconds to each step, {loss.__name__}", steps)
    record_property("seconds", [round(each, 2) for each in seconds])
    record_property("seconds of pods alone", [round(each, 2) for each in bare])
    assert statistics.median(seconds) <= max(RETURN_P50, statistics.median(bare) + LOOKS + STOP)


def lose(
    node: RealNode, lab: Lab, name: str, loss: Callable[[RealNode, Lab, Raw], None]
) -> tuple[float, dict[str, float]]:
    """Seconds from the loss of a worker until all pods of the next attempt run, and their steps."""
    roles = {"ps": (2, template(SLEEP)), "worker": (2, template(FAILING))}
    lab.submit(paddle_job(name, roles, backoffLimit=2))
    wait_running(lab, name, 1)
    worker = lab.pods(name, "worker")[0]
    with History(lab, CORE, "pods") as pods:
        began = time.monotonic()
        loss(node, lab, worker)
        wait_running(lab, name, 2)
        took = time.monotonic() - began
        steps = steps_since(pods, began)
    end(lab, name)
    return took, steps
