"""The cluster that the tests share: what runs in it, and how it is reached."""

import json

from api.objects import Raw
from localcluster import Cluster
from tests.live.lab import Lab
from tests.live.tenant import wait_right


def test_service_account_has_its_own_rights_only(cluster: Cluster, namespace: str) -> None:
    kubeconfig = cluster.kubeconfig_for(namespace, "default")
    who = cluster.kubectl("auth", "whoami", "-o", "json", kubeconfig=kubeconfig)
    user = json.loads(who.stdout)["status"]["userInfo"]["username"]
    refused = cluster.kubectl("get", "pods", "-n", namespace, check=False, kubeconfig=kubeconfig)
    assert user == f"system:serviceaccount:{namespace}:default"
    assert "Forbidden" in refused.stderr


def test_blocking_an_owners_deletion_takes_a_right_over_the_owner(cluster, namespace):
    cluster.kubectl("create", "configmap", "owner", "-n", namespace)
    owner = cluster.get(f"/api/v1/namespaces/{namespace}/configmaps/owner")
    role = ("role", "maker", "--verb=create", "--resource=secrets", "-n", namespace)
    binding = ("rolebinding", "maker", "--role=maker", f"--serviceaccount={namespace}:default")
    cluster.kubectl("create", *role)
    cluster.kubectl("create", *binding, "-n", namespace)
    wait_right(Lab(cluster, namespace), "default", "create", "", "secrets")
    reference: Raw = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reference |= {"uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
    child: Raw = {"apiVersion": "v1", "kind": "Secret"}
    child["metadata"] = {"name": "child", "namespace": namespace, "ownerReferences": [reference]}
    kubeconfig = cluster.kubeconfig_for(namespace, "default")
    refused = cluster.kubectl(
        "create", "-f", "-", stdin=json.dumps(child), check=False, kubeconfig=kubeconfig
    )
    assert "cannot set blockOwnerDeletion" in refused.stderr
