"""The rights that the operator's manifest grants, and those that it has used.

What it used stands in the API server's audit log.
"""

import yaml

from api.objects import Raw
from localcluster import Cluster
from manifests.rbac import KUEUE_RULES, PROGRESS_RULES
from tests.live.operated import DEPLOYMENT, MANIFESTS, NAMESPACE
from tests.live.proxy import audit_entries

MANIFEST = MANIFESTS / "operator-all-namespaces.yaml"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{DEPLOYMENT}"
STAGES = ("ResponseStarted", "ResponseComplete")
"""An open watch has only started."""
Right = tuple[str, str, str]
QUEUES = {(group, resource, verb) for group, resource, verbs in KUEUE_RULES for verb in verbs}
LOGS = {(group, resource, verb) for group, resource, verbs in PROGRESS_RULES for verb in verbs}
QUEUE_ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/queues"
"""What `grant_queues` binds to the operator's account."""


def granted() -> set[Right]:
    """(group, resource, verb) of every rule that the manifest binds to the operator."""
    documents = list(yaml.safe_load_all(MANIFEST.read_text()))
    bound = {(d["roleRef"]["kind"], d["roleRef"]["name"]) for d in documents if "roleRef" in d}
    return {
        (group, resource, verb)
        for document in documents
        if (document["kind"], document["metadata"]["name"]) in bound
        for rule in document["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(cluster: Cluster) -> set[Right]:
    return {
        right_of(entry["verb"], entry["objectRef"])
        for entry in audit_entries(cluster, STAGES, ACCOUNT)
        if entry["user"].get("username") == ACCOUNT and entry.get("objectRef")
    }


def right_of(verb: str, what: Raw) -> Right:
    resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
    return (what.get("apiGroup", ""), resource, verb)


def check_none_is_missing(cluster: Cluster, *more: Right) -> None:
    """All that the operator has ever asked for here was granted, if only for --kueue, or is one of
    `more`.
    """
    asked = used(cluster)
    with_queues = cluster.client.find(QUEUE_ROLE) is not None
    assert asked, "the operator has asked for nothing: the log or the account's name is wrong"
    assert asked - granted() - {*more} - (QUEUES if with_queues else set()) == set()
