"""Faults that tests bring about, and what to read off the history of the jobs that they hit."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from api.constants import LABEL_ATTEMPT, LABEL_JOB_NAME
from api.objects import Raw, parse_time
from tests.live.apiserver import DRY_RUN, ApiServer
from tests.live.history import History
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.proxy import audit_entries

HOSTNAME = "kubernetes.io/hostname"
PROBE = "probe.example.com"
GONE_AT_ONCE = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute",
     "tolerationSeconds": 0}
    for key in ("unreachable", "not-ready")
]  # fmt: skip


def only_first(then: str, otherwise: str = "exit 0") -> Raw:
    """A program that does something else in the job's first attempt."""
    return shell(f'test "$PADDLE_RENDEZVOUS" = 1 || {otherwise}; {then}')


SLOW_TO_STOP = "trap 'sleep 6; exit 0' TERM; sleep 3600 & wait"
"""It takes its time to stop: of a pod gone at once, a busy operator does not see why it went."""
SAVES = only_first(SLOW_TO_STOP)


def hold(lab: Lab, kind: str, name: str) -> None:
    """Keep an object from going, however long ago it was deleted, until it is released."""
    lab.patch(CORE, f"{kind}s/{name}", metadata={"finalizers": ["example.com/hold"]})


def release(lab: Lab, kind: str, name: str) -> None:
    lab.patch(CORE, f"{kind}s/{name}", metadata={"finalizers": None})


@contextmanager
def denied(lab: Lab, group: str, resource: str, operation: str, message: str) -> Iterator[None]:
    """While the block lasts, a policy of admission lets nobody do this in the namespace.

    An API server takes a second or so to see a new policy. This one also refuses a ConfigMap that
    nobody else makes, and once that is refused, the block begins.
    """
    api, name = "admissionregistration.k8s.io/v1", lab.namespace
    rules = [
        {"apiGroups": [group], "resources": [resource], "operations": [operation]},
        {"apiGroups": [""], "resources": ["configmaps"], "operations": ["CREATE"],
         "resourceNames": [name]},
    ]  # fmt: skip
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [{**rule, "apiVersions": ["v1"]} for rule in rules]
            },
            "validations": [{"expression": "false", "message": message, "reason": "Forbidden"}],
        },
    }
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    binding = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": here},
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(policy))
    lab.kubectl("create", "-f", "-", stdin=json.dumps(binding))
    try:
        wait_refused(lab, "configmaps", {"metadata": {"name": name}}, message)
        yield
    finally:
        lab.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)


def evict(lab: Lab, pod: str) -> None:
    """What `kubectl drain` asks for."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    path = f"{CORE}/namespaces/{lab.namespace}/pods/{pod}/eviction"
    lab.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def squeeze_out(lab: Lab, pod: str) -> None:
    """What a kubelet says whose node runs out of something."""
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource"}
    lab.patch(CORE, f"pods/{pod}/status", status=status)


def created_at(pod: Raw) -> datetime:
    moment = parse_time(pod["metadata"]["creationTimestamp"])
    assert moment
    return moment


def restarts(history: History, name: str) -> list[datetime]:
    """When each restart of a job began, as its condition told."""
    found = {
        condition["lastTransitionTime"]
        for version in history.versions(name)
        for condition in version.get("status", {}).get("conditions", ())
        if (condition["type"], condition["status"]) == ("Restarting", "True")
    }
    return sorted(moment for text in found if (moment := parse_time(text)))


def attempts(history: History, name: str) -> dict[str, list[Raw]]:
    """The pods that were made for each attempt of a job, as they were then."""
    made: dict[str, list[Raw]] = {}
    for kind, pod in history.events(f"{name}-"):
        if kind == "ADDED" and pod["metadata"]["labels"][LABEL_JOB_NAME] == name:
            made.setdefault(pod["metadata"]["labels"][LABEL_ATTEMPT], []).append(pod)
    return made


def job_near(name: str, node: str, waits: str = "exec sleep 3600", **pod: Any) -> Raw:
    """A job of two pods that prefer a node, tell their peers there, and wait."""
    template = shell(f'echo "peers $PADDLE_TRAINER_ENDPOINTS"; {waits}')
    wish = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    term = {"weight": 50, "preference": wish}
    template["spec"] |= {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}},
        "tolerations": GONE_AT_ONCE,
        "terminationGracePeriodSeconds": 1,
        **pod,
    }
    return paddle_job(name, {"worker": (2, template)})


def take_away(lab: Lab, node: str, job: str) -> None:
    """Take the node away; nobody is left to end its pods."""
    lab.cluster.stop(node)
    lab.cluster.kubectl("delete", "node", node)
    names = [f"{job}-worker-{index}" for index in range(2)]
    lab.kubectl("delete", "pod", *names, "--wait=false")


def wait_second_attempt(lab: Lab, job: str) -> Raw:
    lab.wait(lambda: lab.status(job).get("attempt") == 2, f"{job} has failed")
    return lab.wait_phase(job, "Running")


def deleted_at(lab: Lab, name: str) -> datetime:
    """When the job was deleted, by the API server's log."""

    def entries() -> list[Raw]:
        return [
            entry
            for entry in audit_entries(lab.cluster, about=lab.namespace)
            if entry["verb"] == "delete"
            and entry["objectRef"].get("namespace") == lab.namespace
            and entry["objectRef"]["resource"] == "paddlejobs"
            and entry["objectRef"].get("name") == name
        ]

    (entry,) = lab.wait(entries, f"the log tells of the deletion of {name}")
    return datetime.fromisoformat(entry["requestReceivedTimestamp"])


def install_webhook(lab: Lab, port: int) -> None:
    """From now on the webhook on this port is asked for every new pod of the namespace."""
    lab.kubectl("create", "-f", "-", stdin=json.dumps(webhook(lab.namespace, port)))
    wait_refused(lab, "configmaps", {"metadata": {"name": lab.namespace}}, PROBE)


def webhook(namespace: str, port: int) -> Raw:
    """The configuration of one that is asked for every new pod of the namespace.

    Where nothing answers on the port, the API server waits 10 s and refuses the pod. A second one,
    on a port that nobody has, is asked for a ConfigMap that nobody else makes: once that is
    refused, the API server knows both.
    """
    condition = {"name": "probe", "expression": f"object.metadata.name == '{namespace}'"}
    hooks = [
        _webhook(namespace, port, "pods") | {"name": "slow.example.com"},
        _webhook(namespace, 1, "configmaps") | {"name": PROBE, "matchConditions": [condition]},
    ]
    api = "admissionregistration.k8s.io/v1"
    kind = {"apiVersion": api, "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": namespace}, "webhooks": hooks}


def _webhook(namespace: str, port: int, resource: str) -> Raw:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}
    return {
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
        "rules": [rule | {"operations": ["CREATE"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
    }


def impose(lab: Lab, name: str, **hard: int) -> None:
    """From now on a quota holds in the namespace.

    One has no effect until a controller has counted what there is, and the API server has heard of
    that. This one also forbids any other quota: once that is refused, it holds.
    """
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": {**hard, "resourcequotas": 0}},
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(quota))
    another = {"metadata": {"name": "another"}, "spec": {}}
    wait_refused(lab, "resourcequotas", another, f"exceeded quota: {name}")


def restrict(lab: Lab) -> None:
    """From now on the namespace takes pods of the strictest standard of Pod Security alone."""
    label = "pod-security.kubernetes.io/enforce=restricted"
    lab.cluster.kubectl("label", "namespace", lab.namespace, label)
    pod = {"metadata": {"name": "probe"}, "spec": shell("true")["spec"]}
    wait_refused(lab, "pods", pod, "violates PodSecurity")


@contextmanager
def unanswered(lab: Lab, resource: str) -> Iterator[None]:
    """While the block lasts, a webhook that must be asked about creates is down."""
    here = {"matchLabels": {"kubernetes.io/metadata.name": lab.namespace}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    hook = {
        "name": "down.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{**rule, "resources": [resource]}],
        "namespaceSelector": here,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": lab.namespace},
        "webhooks": [hook],
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(body))
    try:
        probe = {"metadata": {"name": "probe"}, "spec": shell("exit 0")["spec"]}
        wait_refused(lab, resource, probe, "failed calling webhook")
        yield
    finally:
        lab.kubectl("delete", "validatingwebhookconfiguration", lab.namespace)


def wait_refused(lab: Lab, plural: str, body: Raw, why: str) -> None:
    """Wait until the API server refuses such an object with these words.

    What forbids it takes effect a moment after it was asked for, and not always in the same time.
    """
    server, path = ApiServer(lab.cluster), f"{CORE}/namespaces/{lab.namespace}/{plural}"
    lab.wait(lambda: why in server.create(path, body, DRY_RUN).message, f"{plural} are refused")
