"""The operator's rights against what it does: nothing missing, nothing unused.

A scenario uses every right once. For missing ones the log of the whole test run is looked through
too, where the shared cluster ends.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.commands.manifests import install
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience, volcano
from tests.live.lab import PADDLE_JOBS, Lab, Raw, paddle_job, shell
from tests.live.operated import (
    NAMESPACE,
    grant_queues,
    install_without_deployment,
    run_operator,
)
from tests.live.processes import listening_ports
from tests.live.rights import QUEUES, Right, granted, used
from tests.live.scrape import scrape

ASKED_BY_ADMISSION = {("batch.paddlepaddle.org", "paddlejobs/finalizers", "update")}
"""OwnerReferencesPermissionEnforcement checks it; no request uses it."""
IN_VOLCANO = "podgroups.scheduling.volcano.sh"
IN_TREE = "podgroups.scheduling.k8s.io"
CRD = Path(__file__).parents[2] / "live" / "crds" / "kueue-workload.yaml"
KUEUE, IN_KUEUE = "/apis/kueue.x-k8s.io/v1beta2", "workloads.kueue.x-k8s.io"


@pytest.fixture(scope="module")
def scene() -> Iterator[Lab]:
    """An operator of all namespaces whose gangs are kube-scheduler's, and Volcano's by name."""
    with Cluster(ClusterConfig(nodes=1)) as running:
        install_without_deployment(running)
        volcano.install_pod_groups(running)
        install(running, CRD)
        grant_queues(running)
        election = ("--leader-elect", f"--leader-election-namespace={NAMESPACE}")
        metrics = ("--metrics-bind-address=127.0.0.1:0", "--metrics-secure")
        run_operator(running, "", *election, *metrics, "--scheduling=kubernetes", "--kueue")
        with new_namespace(running) as namespace:
            yield Lab(running, namespace)


@pytest.mark.parametrize("word", ["*", "secrets", "pods/exec"])
def test_no_right_is_dangerous(word: str) -> None:
    assert not [right for right in granted() if word in right]


def test_no_right_is_unused(scene: Lab) -> None:
    start_conflicts(scene)
    read_metrics(scene)
    start_restart(scene)
    use_volcano(scene)
    use_kubernetes(scene)
    use_queues(scene)
    scene.submit(paddle_job("brief", one(shell("true")), ttlSecondsAfterFinished=0))
    scene.wait(lambda: not scene.get(PADDLE_JOBS, "paddlejobs/brief"), "brief is deleted")
    services = paddle_job("named", one(shell("true")), intranet="Service", cleanPodPolicy="Always")
    scene.submit(services)
    scene.wait_completed("named")

    def left() -> set[Right]:
        return (granted() | QUEUES) - used(scene.cluster) - ASKED_BY_ADMISSION

    assert clock.wait_until(lambda: not left(), patience.SECONDS, 0.5), left()
    assert used(scene.cluster) - granted() - QUEUES == set()
    assert not granted() & QUEUES, "without the flag the manifest has no right of it"


def one(template: Raw) -> dict[str, tuple[int, Raw]]:
    return {"worker": (1, template)}


def read_metrics(lab: Lab) -> None:
    """Prometheus reads the metrics: the operator asks who that is."""
    operator = lab.cluster.process("operator-")
    (port,) = lab.wait(lambda: listening_ports(operator.pid), "it listens")
    assert scrape(f"127.0.0.1:{port}", lab.cluster.plane.token)[0] == 200


def start_conflicts(lab: Lab) -> None:
    """Jobs whose children's names are taken: the operator looks who holds them."""
    lab.kubectl("run", "taken-worker-0", "--image=busybox", "--restart=Never", "--", "true")
    lab.kubectl("create", "configmap", "mapped")
    lab.kubectl("create", "service", "clusterip", "served-worker-0", "--tcp=1:1")
    lab.submit(
        paddle_job("taken", one(shell("true"))),
        paddle_job("mapped", one(shell("true"))),
        paddle_job("served", one(shell("true")), intranet="Service"),
    )
    lab.wait(lambda: lab.condition("taken", "Pending").get("reason") == "NameConflict", "told")


def start_restart(lab: Lab) -> None:
    """A job that fails again: its old ConfigMaps go, and the same Event comes twice.

    The first attempt's Events may be one, of which there is no second.
    """
    lab.submit(paddle_job("again", one(shell("sleep 3; exit 1")), backoffLimit=2))


def use_volcano(lab: Lab) -> None:
    """A PodGroup of the operator's: made, mended, removed; and one whose name is taken."""
    template = shell("true")
    template["spec"]["schedulerName"] = "volcano"
    lab.submit(paddle_job("volcanic", one(template)))
    group = own_group(lab, "volcanic")
    lab.wait(lambda: group in lab.kubectl("get", IN_VOLCANO, "-o", "name"), "a PodGroup")
    lab.patch(volcano.API, f"podgroups/{group}", spec={"minMember": 7})
    least = ("get", IN_VOLCANO, group, "-o", "jsonpath={.spec.minMember}")
    lab.wait(lambda: lab.kubectl(*least) == "1", "it is mended")
    use_group(lab, "volcanic", template, IN_VOLCANO, "scheduling.volcano.sh/v1beta1")


def use_kubernetes(lab: Lab) -> None:
    template = shell("sleep 3600")
    lab.submit(paddle_job("intree", one(template)))
    group = own_group(lab, "intree")
    lab.wait(lambda: group in lab.kubectl("get", IN_TREE, "-o", "name"), "a PodGroup")
    use_group(lab, "intree", template, IN_TREE, "scheduling.k8s.io/v1alpha2")


def use_queues(lab: Lab) -> None:
    """A Workload whose name is taken, and one that is made, moved, admitted and made anew.

    Both jobs wait for a class that does not exist yet, the third for one of Kubernetes' own.
    """
    labels = {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/priority-class": "late"}
    jobs = [paddle_job(name, one(shell("sleep 3600"))) for name in ("queued", "squeezed")]
    for job in jobs:
        job["metadata"]["labels"] = labels
    classed = paddle_job("classed", one(shell("true")))
    classed["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    classed["spec"]["worker"]["template"]["spec"]["priorityClassName"] = "system-node-critical"
    lab.submit(*jobs, classed)
    taken = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {"podSets": []}}
    uid = lab.job("squeezed")["metadata"]["uid"]
    lab.submit(taken | {"metadata": {"name": f"paddlejob-squeezed-{uid[:5]}"}})
    late = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 1}
    lab.submit(late | {"metadata": {"name": "late"}})
    own = f"paddlejob-queued-{lab.job('queued')['metadata']['uid'][:5]}"
    name = f"{IN_KUEUE}/{own}"
    lab.wait(lambda: own in lab.kubectl("get", IN_KUEUE, "-o", "name"), "a Workload")
    lab.kubectl("label", "pdj", "queued", "kueue.x-k8s.io/queue-name=other", "--overwrite")
    queue = ("get", name, "-o", "jsonpath={.spec.queueName}")
    lab.wait(lambda: lab.kubectl(*queue) == "other", "it moves")
    lab.kubectl("label", "pdj", "queued", "kueue.x-k8s.io/max-exec-time-seconds=9000")
    seconds = ("get", name, "-o", "jsonpath={.spec.maximumExecutionTimeSeconds}")
    lab.wait(lambda: "9000" in lab.cluster.kubectl(
        "-n", lab.namespace, *seconds, check=False).stdout, "it is made anew")  # fmt: skip
    times = {"reason": "Told", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    told = [{"type": t, "status": "True", **times} for t in ("QuotaReserved", "Admitted")]
    assigned = [{"name": "worker", "count": 1, "flavors": {"cpu": "none"}}]
    status = {"conditions": told, "admission": {"podSetAssignments": assigned}}
    lab.patch(KUEUE, f"workloads/{own}/status", status=status)
    lab.kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
        "metadata": {"name": "none"}, "spec": {"nodeLabels": {}}}))  # fmt: skip


def use_group(lab: Lab, name: str, template: Raw, resource: str, version: str) -> None:
    """Suspend the job, so that its PodGroup goes; start another whose PodGroup's name is taken."""
    lab.edit(name, suspend=True)
    group = own_group(lab, name)
    lab.wait(lambda: group not in lab.kubectl("get", resource, "-o", "name"), "it goes")
    other = f"{name}-too"
    lab.submit(paddle_job(other, one(template), suspend=True))
    kind: Raw = {"apiVersion": version, "kind": "PodGroup", "metadata": {}}
    kind["metadata"]["name"] = own_group(lab, other)
    spec = {"minMember": 1}
    if resource == IN_TREE:
        spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}  # type: ignore[dict-item]
    lab.submit({**kind, "spec": spec})
    lab.edit(other, suspend=False)


def own_group(lab: Lab, name: str) -> str:
    return f"{name}-{lab.job(name)['metadata']['uid'].replace('-', '')[:8]}"
