"""How fast a job starts on a real kubelet, and how fast it comes back.

The bounds are those of a quiet machine of two cores: seconds on a busy one count for less.
"""

import statistics
from collections.abc import Callable

import pytest

from api.constants import LABEL_ATTEMPT
from tests.e2e.calm import Stopwatch
from tests.e2e.jobs import SLEEP, template
from tests.e2e.node import RealNode
from tests.e2e.rendezvous import Rendezvous
from tests.live.lab import PADDLE_JOBS, Lab, Raw, paddle_job

TRIALS = 5
START_P50, START_WORST = 2.5, 4.0
"""Seconds from a job's creation until all of its 2 + 2 pods run."""
CONFIG_MAP_P50 = 0.3
"""Seconds from the last pod's address to the ConfigMap."""
RETURN_P50 = 6.0
"""Seconds from the loss of a pod until all pods of the first restart run."""


def submit(lab: Lab, name: str, **spec: object) -> float:
    """Create a job of two servers and two workers; seconds until all run, of a quiet machine."""
    job = paddle_job(name, {"ps": (2, template(SLEEP)), "worker": (2, template(SLEEP))}, **spec)
    watch = Stopwatch()
    lab.cluster.client.create(f"{PADDLE_JOBS}/namespaces/{lab.namespace}/paddlejobs", job)
    wait_running(lab, name, 1)
    return watch.seconds()


def running(lab: Lab, name: str, attempt: int) -> list[Raw]:
    """The job's pods of an attempt in which the trainer runs."""
    return [
        pod
        for pod in lab.pods(name)
        if pod["status"].get("phase") == "Running"
        and pod["metadata"]["labels"][LABEL_ATTEMPT] == str(attempt)
        and "deletionTimestamp" not in pod["metadata"]
    ]


def wait_running(lab: Lab, name: str, attempt: int) -> None:
    """Wait until the kubelet says that all four run."""
    lab.wait(lambda: len(running(lab, name, attempt)) == 4, f"{name}: attempt {attempt} runs")


def end(lab: Lab, name: str) -> None:
    """Delete the job and wait until its pods are gone."""
    lab.kubectl("delete", "pdj", name)
    lab.wait(lambda: not lab.pods(name), f"{name} is gone")


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_starts(lab: Lab, intranet: str, record_property) -> None:
    seconds, waits = [], []
    with Rendezvous.watched(lab) as rendezvous:
        for trial in range(TRIALS):
            seconds.append(submit(lab, f"start-{trial}", intranet=intranet))
            waits.append(rendezvous.wait_seconds(f"start-{trial}"))
            end(lab, f"start-{trial}")
    record_property("seconds", [round(each, 2) for each in seconds])
    record_property("seconds to the ConfigMap", [round(each, 2) for each in waits])
    assert statistics.median(seconds) <= START_P50, seconds
    assert max(seconds) <= START_WORST, seconds
    assert statistics.median(waits) <= CONFIG_MAP_P50, waits


def exit_code(node: RealNode, lab: Lab, pod: Raw) -> None:
    """The program ends with an exit code of its own."""
    lab.kubectl("exec", pod["metadata"]["name"], "--", "touch", "/fail")


def deleted_pod(node: RealNode, lab: Lab, pod: Raw) -> None:
    """Somebody deletes the pod."""
    lab.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")


def killed_sandbox(node: RealNode, lab: Lab, pod: Raw) -> None:
    """The pod's sandbox dies, and with it its address."""
    uid = pod["metadata"]["uid"]
    lines = node.ctr("containers", "list", 'labels."io.kubernetes.pod.uid"==' + uid).splitlines()
    sandbox = next(line.split()[0] for line in lines if "pause" in line)
    node.ctr("tasks", "kill", "--signal=SIGKILL", sandbox)


# Who is stopped with its sandbox has not ended well.
FAILING = "trap 'exit 143' TERM; while [ ! -e /fail ]; do sleep 0.1; done; exit 3"
LOSSES = [exit_code, deleted_pod, killed_sandbox, exit_code, deleted_pod]


def test_losses(node: RealNode, lab: Lab, record_property) -> None:
    seconds = [lose(node, lab, f"lost-{number}", loss) for number, loss in enumerate(LOSSES)]
    record_property("seconds", [round(each, 2) for each in seconds])
    assert statistics.median(seconds) <= RETURN_P50, seconds


def lose(node: RealNode, lab: Lab, name: str, loss: Callable[[RealNode, Lab, Raw], None]) -> float:
    """Seconds from the loss of a worker until all pods of the next attempt run."""
    roles = {"ps": (2, template(SLEEP)), "worker": (2, template(FAILING))}
    lab.submit(paddle_job(name, roles, backoffLimit=2))
    wait_running(lab, name, 1)
    worker = lab.pods(name, "worker")[0]
    watch = Stopwatch()
    loss(node, lab, worker)
    wait_running(lab, name, 2)
    took = watch.seconds()
    end(lab, name)
    return took
