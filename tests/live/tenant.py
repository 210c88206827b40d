"""A tenant of the cluster: a ServiceAccount with the built-in role `edit` in one namespace."""

import itertools
import json
from pathlib import Path
from typing import Any

import yaml

from localcluster import Cluster
from tests.live.lab import Lab

Raw = dict[str, Any]
ACCOUNT = "tenant"
VERBS = "get,list,watch,create,update,patch,delete"
RBAC, AUTHORIZATION = "rbac.authorization.k8s.io/v1", "authorization.k8s.io/v1"
JOBS = ("batch.paddlepaddle.org", "paddlejobs")
POD_GROUPS = ("scheduling.volcano.sh", "podgroups")
"""What those who install the operator and Volcano let the tenants have besides."""


def write_rights(lab: Lab, account: str, *rules: tuple[str, str]) -> Path:
    """The kubeconfig of a new ServiceAccount that has these verbs on these resources."""
    lab.kubectl("create", "serviceaccount", account)
    for number, (verbs, resources) in enumerate(rules):
        _grant(lab, account, f"{account}-{number}", verbs, resources)
    return lab.cluster.kubeconfig_for(lab.namespace, account)


def _grant(lab: Lab, account: str, role: str, verbs: str, resources: str) -> None:
    """Give an account a role of its own, and wait until it has every right of it."""
    lab.kubectl("create", "role", role, f"--verb={verbs}", f"--resource={resources}")
    user = f"--serviceaccount={lab.namespace}:{account}"
    lab.kubectl("create", "rolebinding", role, f"--role={role}", user)
    for rule in lab.get(f"/apis/{RBAC}", f"roles/{role}")["rules"]:
        for right in itertools.product(rule["verbs"], rule["apiGroups"], rule["resources"]):
            wait_right(lab, account, *right)


def wait_right(
    lab: Lab, account: str, verb: str, group: str, resource: str, *, is_given: bool = True
) -> None:
    """Wait until an account of the namespace has this right, or has it no more.

    The API server takes a moment to see that a binding has come or gone.
    """
    plural, _, subresource = resource.partition("/")
    asked = {"namespace": lab.namespace, "verb": verb, "group": group, "resource": plural}
    user = f"system:serviceaccount:{lab.namespace}:{account}"
    attributes = {**asked, "subresource": subresource}
    body = {
        "apiVersion": AUTHORIZATION,
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }

    def is_so() -> bool:
        review = lab.cluster.client.create(f"/apis/{AUTHORIZATION}/subjectaccessreviews", body)
        return bool(review["status"]["allowed"]) is is_given

    lab.wait(is_so, f"{account} may {verb} {resource}: {is_given}")


class Tenant:
    """What somebody may do who has no rights but in a namespace of their own."""

    def __init__(self, cluster: Cluster, namespace: str, *rights: tuple[str, str]) -> None:
        """With these rights besides; those to jobs and PodGroups where none is named."""
        self.cluster = cluster
        self.namespace = namespace
        lab = Lab(cluster, namespace)
        lab.kubectl("create", "serviceaccount", ACCOUNT)
        account = f"--serviceaccount={namespace}:{ACCOUNT}"
        lab.kubectl("create", "rolebinding", "edit", "--clusterrole=edit", account)
        wait_right(lab, ACCOUNT, "create", "", "pods")
        for group, plural in rights or (JOBS, POD_GROUPS):
            _grant(lab, ACCOUNT, plural, VERBS, f"{plural}.{group}")
        self.kubeconfig = cluster.kubeconfig_for(namespace, ACCOUNT)

    def kubectl(self, *arguments: str, **options: Any) -> str:
        """What kubectl prints to the tenant; raises LocalClusterError when it fails."""
        where = ("-n", self.namespace)
        done = self.cluster.kubectl(*where, *arguments, kubeconfig=self.kubeconfig, **options)
        return done.stdout

    def submit(self, *objects: Raw) -> None:
        """`kubectl create` of objects as one file."""
        self.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def objects(self, *kinds: str) -> list[Raw]:
        return list(json.loads(self.kubectl("get", ",".join(kinds), "-o", "json"))["items"])

    def let_go(self, *kinds: str) -> None:
        """Take all finalizers off, so that the namespace can be deleted."""
        patch = ("--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        for kind in kinds:
            for each in self.objects(kind):
                self.kubectl("patch", kind, each["metadata"]["name"], *patch)
