"""The node's own programs and the operator are restarted beside a job, and a sandbox dies."""

from collections.abc import Sequence

from api.constants import Reason
from tests.e2e.jobs import SLEEP, template
from tests.e2e.node import CONTAINERD, KUBELET, RealNode
from tests.e2e.test_starts import killed_sandbox, running, wait_running
from tests.live import patience
from tests.live.lab import CORE, Lab, paddle_job
from tests.live.operated import DEPLOYMENT, NAMESPACE
from tests.live.pdj import assert_explained

UNTIL_TOLD = "trap 'exit 1' TERM; until [ -e /end ]; do sleep 0.2; done"


def start(lab: Lab, name: str, **spec: object) -> None:
    roles = {"ps": (2, template(SLEEP)), "worker": (2, template(UNTIL_TOLD))}
    lab.submit(paddle_job(name, roles, **spec))


def tell(lab: Lab, name: str) -> None:
    """Have the workers end well, as soon as the kubelet knows them."""
    for worker in lab.pods(name, "worker"):
        command = ("exec", worker["metadata"]["name"], "--", "touch", "/end")
        lab.wait(lambda command=command: is_done(lab, command), " ".join(command))


def is_done(lab: Lab, command: Sequence[str]) -> bool:
    return not lab.cluster.kubectl("-n", lab.namespace, *command, check=False).returncode


def uids(lab: Lab, name: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in lab.pods(name)}


def test_node_programs_restart(node: RealNode, lab: Lab) -> None:
    """containerd and the kubelet come back to the pods that they left; no attempt is charged."""
    start(lab, "kept", cleanPodPolicy="Never")
    wait_running(lab, "kept", 1)
    before = uids(lab, "kept")
    for name in (CONTAINERD, KUBELET):
        node.stop(name)
    for name in (CONTAINERD, KUBELET):
        node.start_ready(name)
    tell(lab, "kept")
    status = lab.wait_completed("kept")
    assert uids(lab, "kept") == before
    assert not status.get("failures")


def test_operator_restarts_under_a_start(lab: Lab) -> None:
    """`kubectl rollout restart` while jobs start: all run, in their first attempt."""
    names = [f"rolled-{number}" for number in range(4)]
    restart = ("-n", NAMESPACE, "rollout", "restart", f"deployment/{DEPLOYMENT}")
    for at, name in enumerate(names):
        start(lab, name)
        if at == 1:
            lab.cluster.kubectl(*restart)
    for name in names:
        wait_running(lab, name, 1)
        assert len(lab.pods(name)) == 4
    status = ("-n", NAMESPACE, "rollout", "status", f"deployment/{DEPLOYMENT}", patience.IN_KUBECTL)
    lab.cluster.kubectl(*status, timeout_seconds=patience.SECONDS)
    for name in names:
        tell(lab, name)
    lab.wait_all(names, "Completed")


def test_sandbox_dies_under_on_failure(node: RealNode, lab: Lab) -> None:
    """A pod that comes back with another address is of no use to its peers: a new attempt."""
    roles = {"ps": (2, on_failure(SLEEP)), "worker": (2, on_failure(UNTIL_TOLD))}
    lab.submit(paddle_job("sandbox", roles))
    wait_running(lab, "sandbox", 1)
    killed_sandbox(node, lab, lab.pods("sandbox", "worker")[0])
    wait_running(lab, "sandbox", 2)
    assert len(running(lab, "sandbox", 2)) == 4
    tell(lab, "sandbox")
    lab.wait_completed("sandbox")


def test_node_keeps_the_config_map_of_a_former_job(lab: Lab) -> None:
    """A kubelet reads an immutable ConfigMap once for all pods that name it; this one stays."""
    job = paddle_job("again", {"worker": (2, template("echo done"))}, cleanPodPolicy="Never")
    lab.submit(job)
    source = {"configMapRef": {"name": "again"}}
    holder = template(SLEEP, envFrom=[source]) | {"metadata": {"name": "holder"}}
    lab.cluster.client.create(f"{CORE}/namespaces/{lab.namespace}/pods", holder)
    lab.kubectl("wait", "pod/holder", "--for=condition=Ready", patience.IN_KUBECTL)
    lab.wait_completed("again")
    lab.kubectl("delete", "pdj", "again")
    lab.wait(lambda: not lab.pods("again"), "its pods are gone")
    lab.submit(job)
    status = lab.wait_completed("again")
    assert (status["attempt"], status.get("failureCount", 0)) == (2, 0)
    assert_explained(lab, "again", Reason.STALE_CONFIG_MAP)


def on_failure(script: str) -> dict:
    made = template(script)
    made["spec"]["restartPolicy"] = "OnFailure"
    return made
