"""Jobs in queues of real Kueue, with its webhooks: docs/kueue.md says with which one."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from benchmarks.simulator import ANNOTATION, PINS, start_simulator
from localcluster import Cluster, ClusterConfig
from tests.conftest import new_namespace
from tests.live.kueue import (
    AGGREGATION,
    API,
    CERTIFICATES,
    FRAMEWORK,
    NAME,
    SLEEP,
    VERSION,
    Kueue,
    condition,
    flavor,
    has_quota,
    is_queued,
    needs_kueue,
    prepare,
    queue,
    queued,
    submit,
    used_cpus,
    workload,
)
from tests.live.lab import CORE, Lab, Raw, shell
from tests.live.operated import operator_beside, run_operator
from tests.live.pdj import explain, run_pdj
from tests.live.tenant import JOBS, Tenant

pytestmark = [needs_kueue]
SLOW_TO_STOP = "trap 'sleep 8; exit 0' TERM; sleep 3600 & wait"
RACKS = 4
"""From preemption, when no pod needs its grace, until the quota is free."""


@pytest.fixture(scope="module")
def kueue() -> Iterator[Kueue]:
    config = ClusterConfig(nodes=1, component_arguments=AGGREGATION)
    with Cluster(config) as running, prepare(running) as kueue:
        kueue.start()
        yield kueue


@pytest.fixture
def lab(kueue: Kueue) -> Iterator[Lab]:
    cluster = kueue.cluster
    with new_namespace(cluster) as namespace, operator_beside(cluster, namespace, "--kueue"):
        yield Lab(cluster, namespace)


def is_free(lab: Lab, name: str) -> Callable[[], bool]:
    return lambda: used_cpus(lab, name) == "0"


def patch(lab: Lab, kind: str, name: str, **spec: Any) -> None:
    text = json.dumps({"spec": spec})
    lab.kubectl("patch", kind, name, "--type=merge", f"--patch={text}")


def test_quota_is_waited_for_and_given_back(lab: Lab) -> None:
    submit(lab, flavor(), *queue(lab, "quota", 2))
    submit(lab, queued("first", "quota"))
    lab.wait_phase("first", "Running")
    submit(lab, queued("second", "quota"), queued("never", "quota", 3), queued("lost", "nowhere"))
    lab.wait(is_queued(lab, "second"), "second waits")
    lab.wait(is_queued(lab, "never"), "never waits")
    lab.wait(lambda: "quota" in lab.condition("second", "Pending")["message"], "it says why")
    lab.wait(lambda: "nowhere" in lab.condition("lost", "Pending").get("message", ""), "no queue")
    lab.kubectl("delete", "pdj", "never", "first", "lost")
    lab.wait_phase("second", "Running")


def test_borrowed_quota_is_taken_back_and_the_job_requeued(lab: Lab) -> None:
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    shared: Raw = {"cohortName": "research", "preemption": preemption}
    submit(lab, flavor(), *queue(lab, "ours", 2, **shared), *queue(lab, "theirs", 2, **shared))
    submit(lab, queued("borrows", "ours", 4))
    lab.wait_phase("borrows", "Running")
    submit(lab, queued("owner", "theirs", 2, "sleep 5"))
    lab.wait(is_queued(lab, "borrows"), "borrows has lost its quota")
    assert condition(lab, "borrows", "Evicted")["reason"] == "Preempted"
    lab.wait_phase("owner", "Running", "Completed")
    lab.wait_completed("owner")
    status = lab.wait_phase("borrows", "Running")
    assert (status["attempt"], status.get("failureCount", 0)) == (2, 0)


def test_higher_priority_preempts(lab: Lab) -> None:
    high = {"apiVersion": VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}
    preemption = {"withinClusterQueue": "LowerPriority"}
    submit(lab, flavor(), high | {"value": 1000}, *queue(lab, "prio", 2, preemption=preemption))
    submit(lab, queued("low", "prio"))
    lab.wait_phase("low", "Running")
    submit(lab, queued("high", "prio", priority="high"))
    lab.wait(lambda: condition(lab, "low", "Evicted").get("status") == "True", "low is evicted")
    lab.wait(lambda: not has_quota(lab, "low"), "low has given its quota back")
    lab.wait_phase("high", "Running")
    lab.kubectl("delete", "pdj", "high")
    lab.wait_phase("low", "Running")


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_stopped_queue_drains_and_goes_on(lab: Lab, kind: str) -> None:
    name = f"drain-{kind.lower()}"
    submit(lab, flavor(), *queue(lab, name, 2))
    submit(lab, queued("job", name))
    lab.wait_phase("job", "Running")
    patch(lab, kind, name, stopPolicy="HoldAndDrain")
    lab.wait(is_queued(lab, "job"), "job is stopped")
    assert condition(lab, "job", "Evicted")["reason"] == f"{kind}Stopped"
    lab.wait(lambda: f"{kind}Stopped" in " ".join(lab.events("job")), "an Event says why")
    patch(lab, kind, name, stopPolicy="None")
    lab.wait_phase("job", "Running")


def test_job_that_has_run_for_long_enough_is_stopped_until_its_user_resumes_it(lab: Lab) -> None:
    submit(lab, flavor(), *queue(lab, "long", 2))
    job = queued("job", "long")
    job["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "4"
    submit(lab, job)
    lab.wait_phase("job", "Running")
    lab.wait(is_queued(lab, "job"), "its time is up")
    assert "its Workload is inactive" in lab.condition("job", "Pending")["message"]
    patch(lab, "pdj", "job", suspend=True)
    lab.wait_phase("job", "Suspended")
    patch(lab, "pdj", "job", suspend=False)
    lab.wait_phase("job", "Running")


def test_elastic_job_runs_with_what_is_free(lab: Lab) -> None:
    submit(lab, flavor(), *queue(lab, "partial", 3))
    job = queued("elastic", "partial", 4, elastic=1)
    job["spec"]["worker"] |= {"requests": 2, "limits": 4}
    submit(lab, job)
    lab.wait(lambda: len(lab.pods("elastic")) == 3, "three of four workers")
    assert [each["count"] for each in assignments(lab, "elastic")] == [3]


def assignments(lab: Lab, name: str) -> list[Raw]:
    return list(workload(lab, name)["status"]["admission"]["podSetAssignments"])


def test_worker_that_has_ended_gives_its_quota_to_others(lab: Lab) -> None:
    submit(lab, flavor(), *queue(lab, "reclaim", 2))
    one_ends = 'case "$HOSTNAME" in *-0) sleep 3600;; esac'
    submit(lab, queued("long", "reclaim", script=one_ends))
    lab.wait_phase("long", "Completing")
    submit(lab, queued("short", "reclaim", 1))
    lab.wait_phase("short", "Running")
    assert lab.status("long")["phase"] == "Completing"
    assert [p["count"] for p in workload(lab, "long")["status"]["reclaimablePods"]] == [1]


def test_containers_that_outlive_their_trainers_keep_their_quota(lab: Lab) -> None:
    submit(lab, flavor(), *queue(lab, "beside", 2))
    template = shell("true", resources={"requests": {"cpu": "1"}})
    template["spec"]["containers"].append(
        shell(SLOW_TO_STOP, name="beside")["spec"]["containers"][0]
    )
    job = queued("long", "beside", template=template, cleanPodPolicy="Never")
    job["metadata"]["finalizers"] = ["example.com/stays"]
    submit(lab, job)
    lab.wait_completed("long")
    submit(lab, queued("short", "beside", 1))
    lab.wait(is_queued(lab, "short"), "the quota is used")
    assert used_cpus(lab, "beside") == "2"
    patch(lab, "pdj", "long", ttlSecondsAfterFinished=0)
    lab.wait_phase("short", "Running")
    assert not lab.pods("long")
    lab.kubectl("patch", "pdj", "long", "--type=merge", '--patch={"metadata":{"finalizers":[]}}')


def test_rank_by_rank_in_one_rack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two nodes in each of four racks; four pods of one rack, neighbours on one node."""
    PINS.binaries_folder()
    label, host = "cloud.example.com/rack", "kubernetes.io/hostname"
    nodes: list[Raw] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"rack-{number // 2}-{number % 2}",
                "labels": {"pool": "racks", label: f"r{number // 2}"},
                "annotations": {ANNOTATION: "fake"},
            },
            "status": {
                key: {"cpu": "2", "memory": "8Gi", "pods": "10"}
                for key in ("capacity", "allocatable")
            },
        }
        for number in range(2 * RACKS)
    ]
    for node in nodes:
        node["metadata"]["labels"][host] = node["metadata"]["name"]
    levels = [{"nodeLabel": label}, {"nodeLabel": host}]
    racks = {"apiVersion": VERSION, "kind": "Topology", "metadata": {"name": "racks"}}
    with start_simulator(lab.cluster.kubeconfig, lab.cluster.folder / "kwok.log"):
        submit(lab, *nodes, racks | {"spec": {"levels": levels}})
        placed = flavor("racks", nodeLabels={"pool": "racks"}, topologyName="racks")
        submit(lab, placed, *queue(lab, "topology", 16, "racks"))
        template = shell(SLEEP, resources={"requests": {"cpu": "1"}})
        required = {"kueue.x-k8s.io/podset-required-topology": label}
        template["metadata"] = {"annotations": required}
        submit(lab, queued("tight", "topology", 4, template=template))
        lab.wait(lambda: len(nodes_of(lab, "tight")) == 4, "four pods have nodes")
        first = nodes_of(lab, "tight")
        assert len({node[:6] for node in first}) == 1, first
        assert first[0] == first[1] != first[2] == first[3], first
        submit(lab, queued("large", "topology", 5, template=template))
        lab.wait(is_queued(lab, "large"), "large fits into no rack")
        lab.wait(lambda: "topology" in lab.condition("large", "Pending")["message"], "it says so")
        lab.kubectl("delete", "pdj", "tight", "large")
        lab.kubectl("delete", "node", "-l", "pool=racks")


def nodes_of(lab: Lab, name: str) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in lab.pods(name) if pod["spec"].get("nodeName")]


STATES = ("queued", "admitted", "running", "stopping", "ended")


def bring_to(lab: Lab, state: str, name: str, cpus: str) -> None:
    """Have a job reach a state in a queue of two CPUs."""
    submit(lab, flavor(), *queue(lab, cpus, 0 if state == "queued" else 2))
    script = {"stopping": SLOW_TO_STOP, "ended": "true"}.get(state, SLEEP)
    submit(lab, queued(name, cpus, script=script))
    if state == "queued":
        lab.wait(is_queued(lab, name), "it is queued")
    elif state == "admitted":
        lab.wait(lambda: lab.pods(name), "a pod")
    elif state == "ended":
        lab.wait_completed(name)
    else:
        lab.wait_phase(name, "Running")
    if state == "stopping":
        patch(lab, "clusterqueue", cpus, stopPolicy="HoldAndDrain")
        lab.wait(lambda: condition(lab, name, "Evicted").get("status") == "True", "evicted")


@pytest.mark.parametrize("state", STATES)
def test_deleted_job_leaves_no_quota_behind(lab: Lab, state: str) -> None:
    bring_to(lab, state, "gone", f"deleted-{state}")
    lab.kubectl("delete", "pdj", "gone")
    lab.wait(lambda: not lab.items(API, "workloads"), "the Workload goes")
    lab.wait(is_free(lab, f"deleted-{state}"), "its quota is free")
    lab.wait(lambda: not lab.pods("gone"), "its pods go")


@pytest.mark.parametrize("state", STATES)
def test_operator_that_was_away_goes_on(kueue: Kueue, state: str) -> None:
    """Killed in this state; then what it waits for happens, and it comes back."""
    name, cluster = f"restart-{state}", kueue.cluster
    with new_namespace(cluster) as namespace:
        lab = Lab(cluster, namespace)
        with operator_beside(cluster, namespace, "--kueue"):
            bring_to(lab, state, "job", name)
            uid = workload(lab, "job")["metadata"]["uid"]
            cluster.process(f"operator-{namespace}").signal(signal.SIGKILL)
        if state == "queued":
            quota = queue(lab, name, 2)[0]["spec"]["resourceGroups"]
            patch(lab, "clusterqueue", name, resourceGroups=quota)
            lab.wait(lambda: has_quota(lab, "job"), "quota")
        if state == "running":
            patch(lab, "clusterqueue", name, stopPolicy="HoldAndDrain")
            lab.wait(lambda: condition(lab, "job", "Evicted"), "evicted")
        with operator_beside(cluster, namespace, "--kueue"):
            if state in ("running", "stopping"):
                lab.wait(is_queued(lab, "job"), "it is queued")
                patch(lab, "clusterqueue", name, stopPolicy="None")
            if state != "ended":
                lab.wait_phase("job", "Running")
            else:
                lab.wait(lambda: condition(lab, "job", "Finished").get("status"), "finished")
            (only,) = lab.items(API, "workloads")
            assert only["metadata"]["uid"] == uid


def test_jobs_run_on_while_kueue_is_away(kueue: Kueue, lab: Lab) -> None:
    """A gang restarts, and a new job says that it waits; both go on once Kueue is back."""
    submit(lab, flavor(), *queue(lab, "away", 4))
    submit(lab, queued("runs", "away"))
    lab.wait(lambda: condition(lab, "runs", "PodsReady").get("status") == "True", "it runs")
    kueue.cluster.stop(NAME)
    lab.kubectl("delete", "pod", "runs-worker-0", "--wait=false")
    lab.wait(lambda: lab.status("runs").get("attempt") == 2, "another attempt")
    lab.wait_phase("runs", "Running")
    submit(lab, queued("held", "away"))
    lab.wait(lambda: "webhook" in lab.condition("held", "Pending").get("message", ""), "it says so")
    assert not lab.pods("held")
    kueue.start()
    lab.wait_phase("held", "Running")
    assert lab.status("runs")["attempt"] == 2


def test_job_that_comes_back_larger_while_kueue_is_away_is_queued(kueue: Kueue, lab: Lab) -> None:
    submit(lab, flavor(), *queue(lab, "larger", 2))
    submit(lab, queued("grows", "larger"))
    lab.wait_phase("grows", "Running")
    kueue.cluster.stop(NAME)
    patch(lab, "pdj", "grows", suspend=True)
    lab.wait_phase("grows", "Suspended")
    patch(lab, "pdj", "grows", suspend=False, worker={"replicas": 3})
    lab.wait(lambda: not has_quota(lab, "grows"), "its quota is given back")
    assert not lab.pods("grows")
    kueue.start()
    lab.wait(is_queued(lab, "grows"), "three pods do not fit")
    quota = queue(lab, "larger", 3)[0]["spec"]["resourceGroups"]
    patch(lab, "clusterqueue", "larger", resourceGroups=quota)
    lab.wait_phase("grows", "Running")
    assert len(lab.pods("grows")) == 3


@pytest.mark.skipif(
    CERTIFICATES.exists() or not os.access("/", os.W_OK),
    reason=f"Kueue keeps certificates in {CERTIFICATES}, which is there or cannot be made",
)
def test_user_sees_the_place_in_the_queue_and_who_has_its_quota(kueue: Kueue, lab: Lab) -> None:
    tenant = Tenant(lab.cluster, lab.namespace, JOBS)
    holder, places = f"seen <- PaddleJob {lab.namespace}/first", ("seen: 1 of 2", "seen: 2 of 2")

    def are_told() -> bool:
        """Whether a user who may do what `edit` allows is told of both jobs."""
        asked, config = ("-n", lab.namespace, "explain"), str(tenant.kubeconfig)
        told = [run_pdj(*asked, name, kubeconfig=config).out for name in ("second", "third")]
        return all(holder in each for each in told) and all(p in "".join(told) for p in places)

    with kueue.visible():
        submit(lab, flavor(), *queue(lab, "seen", 2))
        submit(lab, queued("first", "seen"))
        lab.wait_phase("first", "Running")
        submit(lab, queued("second", "seen"), queued("third", "seen"))
        for name in ("second", "third"):
            lab.wait(is_queued(lab, name), f"{name} waits")
        lab.wait(are_told, "both have a place")
        assert holder in explain(lab, "second", "en"), "an administrator, of all namespaces"


def test_job_whose_pods_are_not_ready_in_time_is_requeued(kueue: Kueue, lab: Lab) -> None:
    """With a Kueue that is started anew, and waits for pods."""
    strategy = {"timestamp": "Eviction", "backoffBaseSeconds": 2, "backoffLimitCount": 1}
    waits = {"timeout": "20s", "blockAdmission": True, "requeuingStrategy": strategy}
    kueue.restart(waitForPodsReady=waits)
    submit(lab, flavor(), *queue(lab, "ready", 4))
    template = shell(SLEEP, resources={"requests": {"cpu": "1"}})
    template["spec"]["nodeSelector"] = {"there": "is-none"}
    submit(lab, queued("stuck", "ready", template=template))
    lab.wait(lambda: condition(lab, "stuck", "Evicted").get("status") == "True", "evicted")
    assert condition(lab, "stuck", "Evicted")["reason"] == "PodsReadyTimeout"
    submit(lab, queued("well", "ready"))
    lab.wait(lambda: workload(lab, "stuck")["spec"].get("active") is False, "it is given up")
    lab.wait_phase("well", "Running")
    lab.wait(is_queued(lab, "stuck"), "it has no quota")
    assert condition(lab, "well", "PodsReady")["status"] == "True"
    message = lab.condition("stuck", "Pending")["message"]
    assert "its Workload is inactive" in message
    kueue.restart()


def test_multikueue_runs_the_job_in_the_other_cluster(kueue: Kueue) -> None:
    cluster = kueue.cluster
    with (
        Cluster(ClusterConfig(nodes=1)) as worker,
        prepare(worker) as other,
        new_namespace(worker) as namespace,
    ):
        other.start()
        for each in (cluster, worker):
            run_operator(each, "" if each is worker else namespace, "--kueue")
        there, here = Lab(worker, namespace), Lab(cluster, namespace)
        cluster.kubectl("create", "namespace", namespace)
        kueue.restart(multiKueue={"externalFrameworks": [{"name": FRAMEWORK}]})
        secret: Raw = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "worker"}}
        secret["stringData"] = {"kubeconfig": worker.kubeconfig.read_text()}
        cluster.kubectl("-n", "kueue-system", "create", "-f", "-", stdin=yaml.safe_dump(secret))
        submit(there, flavor(), *queue(there, "far", 2))
        check = {"admissionChecks": [{"name": "far"}]}
        submit(here, flavor(), *dispatch(), *queue(here, "far", 2, admissionChecksStrategy=check))
        job = queued("far", "far", script="sleep 20", managedBy="kueue.x-k8s.io/multikueue")
        submit(here, job)
        there.wait(lambda: there.items(CORE, "pods"), "pods in the other cluster")
        assert not here.items(CORE, "pods")
        here.wait_completed("far")
        here.wait(lambda: condition(here, "far", "Finished").get("status"), "it is finished")
        here.wait(lambda: not there.items(API, "workloads"), "nothing is left there")
        cluster.stop(f"operator-{namespace}")


def dispatch() -> list[Raw]:
    name = {"apiVersion": VERSION, "metadata": {"name": "far"}}
    config = {"locationType": "Secret", "location": "worker"}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "far"}
    controller = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    return [
        {**name, "kind": "MultiKueueCluster", "spec": {"clusterSource": {"kubeConfig": config}}},
        {**name, "kind": "MultiKueueConfig", "spec": {"clusters": ["far"]}},
        {**name, "kind": "AdmissionCheck", "spec": controller},
    ]
