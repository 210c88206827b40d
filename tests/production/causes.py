"""What brings about each alert, its runbook, and the cure: a row for each cause.

A row is a generator: it brings the cause about, waits by `yield` until its alerts have fired,
follows their runbooks, and cures. The jobs of each are in a namespace of their own.
"""

import json
import re
import socket
from typing import Any

from localcluster.machine import clock
from localcluster.machine.ports import HOST
from manifests.dashboard import ROWS
from tests.live import patience
from tests.live.faulty import PROBE, impose, install_webhook, job_near, restrict, wait_refused
from tests.live.faulty import webhook as webhook_of
from tests.live.installers import NAMESPACE
from tests.live.lab import CORE, Lab, Raw, paddle_job, shell, waiting_for_ever
from tests.live.operated import DEPLOYMENT, WORKLOAD, roll_out
from tests.live.pdj import Tool
from tests.production.watched import Steps, World, cause, section_of

RBAC = "/apis/rbac.authorization.k8s.io/v1"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
LOST_NODE = "node-1"
MANY = 60
"""Jobs for which there are too few workers, when each holds one for seconds."""
BEHIND_SECONDS = 10


def sleeping(name: str) -> Raw:
    return paddle_job(name, {"worker": (1, shell("exec sleep 3600"))})


def unplaced(name: str) -> Raw:
    return paddle_job(name, {"worker": (1, waiting_for_ever())})


# Causes of the jobs' own


HANGS = """
test "$PADDLE_RENDEZVOUS" = 1 || exit 0
echo paddlejob: step=1
test "$PADDLE_TRAINER_ID" = 1 || { sleep 4; echo paddlejob: step=2; }
exec sleep 3600
"""


@cause("PaddleJobsStalled", early=True, reason="NoOutput")
def a_worker_hangs(world: World) -> Steps:
    lab = world.lab()
    policy = {"afterSeconds": 120}
    lab.submit(paddle_job("hangs", {"worker": (2, shell(HANGS))}, stallPolicy=policy))
    yield
    table, story = world.follow("PaddleJobsStalled", lab, JOB="hangs")
    assert re.search(r"hangs .*NoOutput", table)
    assert "worker-1" in lab.condition("hangs", "TrainingStalled")["message"]
    assert "kubectl pdj restart" in story
    Tool(lab).ok("restart", "hangs")
    lab.wait_completed("hangs")


@cause("PaddleJobsQueuedTooLong", early=True)
def quota_is_not_given(world: World) -> Steps:
    """The test stands in for Kueue."""
    lab = world.lab()
    job = sleeping("queued")
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    lab.submit(job)
    (workload,) = lab.wait(lambda: lab.items(KUEUE, "workloads"), "a Workload")
    path = f"workloads/{workload['metadata']['name']}/status"

    def tell(reserved: str, reason: str, **status: Any) -> None:
        known = {"message": "so", "lastTransitionTime": "2026-01-02T03:04:05Z"}
        told = [
            {"type": t, "status": reserved, "reason": reason, **known}
            for t in ("QuotaReserved", "Admitted")
        ]
        lab.patch(KUEUE, path, status={"conditions": told, **status})

    tell("False", "ExceedsMaxQuota")
    yield
    (story,) = world.follow("PaddleJobsQueuedTooLong", lab, JOB="queued")
    assert "ExceedsMaxQuota" in story
    tell(
        "True",
        "Admitted",
        admission={"clusterQueue": "team", "podSetAssignments": [{"name": "worker", "count": 1}]},
    )
    lab.wait_phase("queued", "Running")


@cause("PaddleJobsPendingTooLong", "PaddleJobNamespaceWaits", early=True, reason="QuotaExceeded")
def quota_of_the_namespace_is_too_small(world: World) -> Steps:
    lab = world.lab()
    impose(lab, "small", pods=0)
    lab.submit(paddle_job("large", {"worker": (1, shell("exit 0"))}))
    fired = yield
    assert fired["PaddleJobNamespaceWaits"]["labels"]["job_namespace"] == lab.namespace
    (table,) = world.follow("PaddleJobsPendingTooLong")
    assert re.search(r" large .*QuotaExceeded .*exceeded quota: small", table), table
    waits = lab.condition("large", "Pending")["message"]
    assert "requested: pods=1, used: pods=0, limited: pods=0" in waits
    (story,) = world.follow("PaddleJobNamespaceWaits", lab, JOB="large")
    assert "exceeded quota: small" in story
    lab.patch(CORE, "resourcequotas/small", spec={"hard": {"pods": 9}})
    lab.wait_completed("large")


@cause("PaddleJobWritesRefused", early=True, late=True, reason="CreateRefused")
def pod_security_refuses(world: World) -> Steps:
    lab = world.lab()
    restrict(lab)
    lab.submit(paddle_job("loose", {"worker": (1, shell("exit 0"))}))
    yield
    (story,) = world.follow("PaddleJobWritesRefused", lab, JOB="loose")
    said = lab.condition("loose", "Pending")["message"]
    assert "violates PodSecurity" in said
    assert "violates PodSecurity" in story
    label = "pod-security.kubernetes.io/enforce-"
    lab.cluster.kubectl("label", "namespace", lab.namespace, label)
    lab.wait_completed("loose")


@cause("PaddleJobsOnLostNodes", early=True)
def a_node_dies_whose_pods_tolerate_all(world: World) -> Steps:
    lab = world.lab()
    lab.submit(job_near("stays", LOST_NODE, tolerations=[{"operator": "Exists"}]))
    lab.wait_phase("stays", "Running")
    assert {pod["spec"]["nodeName"] for pod in lab.pods("stays")} == {LOST_NODE}
    world.cluster.stop(LOST_NODE)
    yield
    (table, _) = world.follow("PaddleJobsOnLostNodes", NODE=LOST_NODE)
    (line,) = (line for line in table.splitlines() if " stays " in line)
    assert LOST_NODE in line
    pod = re.search(r"stays-worker-\d", line)
    assert pod, line
    lab.kubectl("delete", "pod", pod[0], "--wait=false")
    lab.wait(lambda: lab.status("stays").get("attempt") == 2, "a new attempt")
    assert "failureCount" not in lab.wait_phase("stays", "Running")


NO_DATA = 'test -n "$DATA" || { echo no space left on /data; exit 3; }'


@cause("PaddleJobsFailing", "PaddleJobNamespaceFails", late=True)
def the_data_that_all_share_is_gone(world: World) -> Steps:
    """The second alert needs an operator that was there an hour ago: a minute here."""
    lab = world.lab()
    place = {"configMapKeyRef": {"name": "shared", "key": "data"}}
    template = shell(NO_DATA, env=[{"name": "DATA", "valueFrom": place}])
    lab.kubectl("create", "configmap", "shared", "--from-literal=data=")
    lab.submit(*(paddle_job(f"failed-{n}", {"worker": (1, template)}) for n in range(8)))
    fired = yield
    assert fired["PaddleJobNamespaceFails"]["labels"]["job_namespace"] == lab.namespace
    by_reason = panel(world, "Ended in the last hour", "reason")
    assert by_reason["PodFailed"] > 3
    _, described = world.follow("PaddleJobsFailing", lab)
    assert "no space left on /data" in described
    assert re.search("Exit Code: +3", described), described
    lab.patch(CORE, "configmaps/shared", data={"data": "/data"})
    lab.submit(paddle_job("goes", {"worker": (1, template)}))
    lab.wait_completed("goes")


@cause("PaddleJobRestartsStorming", late=True)
def somebody_deletes_pods(world: World) -> Steps:
    lab = world.lab()
    lab.submit(*(sleeping(f"bereft-{n}") for n in range(20)))
    lab.wait_all([f"bereft-{n}" for n in range(20)], "Running")

    def delete(_: int) -> None:
        lab.kubectl("delete", "pods", "--all", "--wait=false")

    world.until_fired("PaddleJobRestartsStorming", delete, lab)
    yield
    assert panel(world, "Time without training in the last hour", "reason")["PodVanished"] > 0
    lab.kubectl("delete", "pdj", "--all")


def panel(world: World, title: str, label: str) -> dict[str, float]:
    """What a panel of the dashboard shows, by this label."""
    panels = {each.title: each for row in ROWS.values() for each in row}
    texts = (query.text for query in panels[title].queries)
    asked = (text.replace("$job", "paddlejob") for text in texts)
    samples = [sample for text in asked for sample in world.prometheus.query(text)]
    return {labels[label]: value for labels, value in samples if label in labels}


# Causes around the operator


@cause("PaddleJobReconcileErrors")
def a_webhook_of_the_status_is_down(world: World) -> Steps:
    lab = world.lab()
    body = webhook_of(lab.namespace, 1)
    rule = {"apiGroups": ["batch.paddlepaddle.org"], "apiVersions": ["*"]}
    body["webhooks"][0]["rules"] = [
        {**rule, "resources": ["paddlejobs/status"], "operations": ["UPDATE"]}
    ]
    lab.kubectl("create", "-f", "-", stdin=json.dumps(body))
    wait_refused(lab, "configmaps", {"metadata": {"name": lab.namespace}}, PROBE)
    world.until_fired("PaddleJobReconcileErrors", lambda n: lab.submit(unplaced(f"mute-{n}")), lab)
    yield
    told = [line for line in world.log().splitlines() if "failed calling webhook" in line]
    assert any(f"{lab.namespace}/mute-0" in line for line in told)
    assert "reconcile_raised" not in world.log()
    lab.kubectl("delete", "validatingwebhookconfiguration", lab.namespace)
    lab.wait(lambda: lab.status("mute-0"), "its status")
    lab.kubectl("delete", "pdj", "--all")


@cause("PaddleJobQueueStuck", "PaddleJobPassesLate", late=True)
def a_webhook_hangs(world: World) -> Steps:
    """It takes connections and never answers."""
    lab = world.lab()
    with socket.create_server((HOST, 0)) as listener:
        install_webhook(lab, listener.getsockname()[1])
        lab.submit(*(unplaced(f"hung-{n}") for n in range(MANY)))
        yield
        assert "CreateUnanswered" in section_of("PaddleJobQueueStuck")
        unanswered = "CreateUnanswered"
        lab.wait(lambda: lab.condition("hung-0", "Pending").get("reason") == unanswered, "so")
        answered = 'sum(rate(rest_client_requests_total{code=~"2.."}[5s])) > 0'
        world.prometheus.wait_for(answered)
        lab.kubectl("delete", "validatingwebhookconfiguration", lab.namespace)
    lab.wait(lambda: len(lab.items(CORE, "pods")) == MANY, "the pods of all")
    lab.kubectl("delete", "pdj", "--all")


@cause("PaddleJobEventsDropped", late=True, cause="error")
def the_right_to_events_is_taken(world: World) -> Steps:
    lab = world.lab()
    path = f"{RBAC}/clusterroles/{DEPLOYMENT}"
    rules = world.cluster.get(path)["rules"]
    others = [rule for rule in rules if "events" not in rule["resources"]]
    assert len(others) < len(rules)
    world.cluster.client.merge_patch(path, {"rules": others})
    world.until_fired("PaddleJobEventsDropped", lambda n: lab.submit(unplaced(f"mute-{n}")), lab)
    yield
    (line, *_) = (line for line in world.log().splitlines() if "event_not_sent" in line)
    assert "forbidden" in line
    world.cluster.client.merge_patch(path, {"rules": rules})

    def is_told() -> bool:
        lab.submit(unplaced(f"told-{next(count)}"))
        events = lab.items(CORE, "events")
        return any(each["involvedObject"]["kind"] == "PaddleJob" for each in events)

    count = iter(range(10_000))
    lab.wait(is_told, "Events again")
    lab.kubectl("delete", "pdj", "--all")


# Causes of the operator itself


@cause("PaddleJobOperatorClockDiffers", early=True)
def the_api_servers_clock_differs(world: World) -> Steps:
    """The operator takes a time that is farther from its own once none was nearer for a minute."""
    world.rival.behind_seconds = BEHIND_SECONDS
    yield
    ahead = "paddlejob_clock_ahead_seconds"
    assert ahead in section_of("PaddleJobOperatorClockDiffers")
    ((_, seconds),) = world.prometheus.query(f"{ahead} > 1")
    assert abs(seconds - BEHIND_SECONDS) < 2
    told = world.rival.log.read_text
    assert clock.wait_until(lambda: "clock_differs" in told(), patience.SECONDS)
    world.rival.behind_seconds = 0


@cause("PaddleJobWatchSilent", early=True, kind="pods.v1")
def something_drops_what_is_said_of_pods(world: World) -> Steps:
    world.rival.hold_pods()
    yield
    assert "pods" in world.rival.readyz()[1]
    told = [line for line in world.rival.log.read_text().splitlines() if "watch_failed" in line]
    assert any("pods" in line for line in told)
    world.rival.thawed.set()


@cause("PaddleJobOperatorsCompete", early=True, late=True)
def another_operator_leads(world: World) -> Steps:
    """It has run from the start; the operator reads Leases once a minute."""
    yield
    (version,) = world.follow("PaddleJobOperatorsCompete")
    assert f"{world.rival.namespace}/" in version
    events = Lab(world.cluster, NAMESPACE).items(CORE, "events")
    told = [each["message"] for each in events if each["reason"] == "AnotherOperatorLeads"]
    assert any(world.rival.namespace in each for each in told)
    world.rival.stop()


@cause("PaddleJobOperatorNotLeading", name="paddlejob-operator-all")
def the_right_to_leases_is_taken(world: World) -> Steps:
    path = f"{RBAC}/namespaces/{NAMESPACE}/rolebindings"
    name = f"{DEPLOYMENT}-leader-election"
    binding = world.cluster.get(f"{path}/{name}")
    world.cluster.kubectl("-n", NAMESPACE, "delete", "rolebinding", name)
    yield
    (leases,) = world.follow("PaddleJobOperatorNotLeading")
    assert "paddlejob-operator-all" in leases
    assert re.search("lease.*forbidden", world.log())
    kept = {"name": name, "labels": binding["metadata"]["labels"]}
    world.cluster.client.create(path, {**binding, "metadata": kept})


@cause("PaddleJobOperatorDown", namespace="")
def prometheus_has_another_token(world: World) -> Steps:
    token = world.prometheus.token.read_text()
    world.prometheus.token.write_text("made-up")
    yield
    (target,) = (
        t
        for t in world.prometheus.ask("targets")["activeTargets"]
        if t["scrapePool"] == "paddlejob"
    )
    assert "401" in target["lastError"]
    assert "401" in section_of("PaddleJobOperatorDown")
    world.prometheus.token.write_text(token)


@cause("PaddleJobOperatorDown", namespace="")
def the_operator_does_not_start(world: World) -> Steps:
    place, flag = "/spec/template/spec/containers/0/args/-", "--no-such-flag"
    patch = json.dumps([{"op": "add", "path": place, "value": flag}])
    lab = Lab(world.cluster, NAMESPACE)
    lab.kubectl("patch", WORKLOAD, "--type=json", "-p", patch)
    yield
    crashed = re.compile("Error|CrashLoopBackOff")
    lab.wait(lambda: crashed.search(lab.kubectl("get", "pods")), "the new pod crashes")
    pods, log = world.follow("PaddleJobOperatorDown")
    assert crashed.search(pods), pods
    assert flag in log, log
    roll_out(world.cluster, "rollout", "undo", WORKLOAD)
