"""A tenant of the cluster: a ServiceAccount with the built-in role `edit` in one namespace."""

import json
from pathlib import Path
from typing import Any

import yaml

from localcluster import Cluster
from tests.live.lab import Lab

Raw = dict[str, Any]
ACCOUNT = "tenant"
JOBS = ("batch.paddlepaddle.org", "paddlejobs")
POD_GROUPS = ("scheduling.volcano.sh", "podgroups")
"""What those who install the operator and Volcano let the tenants have besides."""


def write_rights(lab: Lab, account: str, *rules: tuple[str, str]) -> Path:
    """The kubeconfig of a new ServiceAccount that has these verbs on these resources."""
    lab.kubectl("create", "serviceaccount", account)
    for number, (verbs, resources) in enumerate(rules):
        name = f"{account}-{number}"
        lab.kubectl("create", "role", name, f"--verb={verbs}", f"--resource={resources}")
        user = f"--serviceaccount={lab.namespace}:{account}"
        lab.kubectl("create", "rolebinding", name, f"--role={name}", user)
    return lab.cluster.kubeconfig_for(lab.namespace, account)


class Tenant:
    """What somebody may do who has no rights but in a namespace of their own."""

    def __init__(self, cluster: Cluster, namespace: str, *rights: tuple[str, str]) -> None:
        """With these rights besides; those to jobs and PodGroups where none is named."""
        self.cluster = cluster
        self.namespace = namespace
        verbs = "--verb=get,list,watch,create,update,patch,delete"
        admin = ("-n", namespace, "create")
        cluster.kubectl(*admin, "serviceaccount", ACCOUNT)
        account = f"--serviceaccount={namespace}:{ACCOUNT}"
        cluster.kubectl(*admin, "rolebinding", "edit", "--clusterrole=edit", account)
        for group, plural in rights or (JOBS, POD_GROUPS):
            cluster.kubectl(*admin, "role", plural, verbs, f"--resource={plural}.{group}")
            cluster.kubectl(*admin, "rolebinding", plural, f"--role={plural}", account)
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
