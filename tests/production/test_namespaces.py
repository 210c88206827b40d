"""An operator of two namespaces, installed by Helm: it runs their jobs, and may do nothing else."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from manifests.rbac import CLUSTER_RULES, LEASE_RULES, RULES, Table
from tests.conftest import new_namespace
from tests.live import patience, volcano
from tests.live.faulty import restrict
from tests.live.installers import CHART, NAMESPACE, RELEASE, Helm
from tests.live.lab import Lab, Raw, paddle_job, shell
from tests.live.operated import DEPLOYMENT
from tests.live.processes import http_get
from tests.live.proxy import audit_entries
from tests.live.rights import ACCOUNT, STAGES, Right

pytestmark = [pytest.mark.cluster]

TEAMS = ("team-a", "team-b")
SCOPE: Raw = {"scope": {"kind": "List", "namespaces": list(TEAMS)}}
TEST = f"{DEPLOYMENT}-test"
INSTALL = ("install", RELEASE, str(CHART), "--create-namespace", "--wait", patience.IN_KUBECTL)
UPGRADE = ("upgrade", RELEASE, str(CHART), "--wait", patience.IN_KUBECTL)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(ClusterConfig(nodes=1)) as running:
        volcano.install_pod_groups(running)
        for team in TEAMS:
            create_namespace(running, team)
        Helm(running).run(*INSTALL, values=SCOPE)
        yield running


@pytest.fixture(scope="module")
def elsewhere(cluster: Cluster) -> Iterator[str]:
    with new_namespace(cluster) as name:
        yield name


def create_namespace(cluster: Cluster, name: str) -> None:
    """One in which pods can be created."""
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default")


def allowed(cluster: Cluster, namespace: str, table: Table) -> set[Right]:
    return {right for right in rights_in(table) if may(cluster, namespace, *right)}


def may(cluster: Cluster, namespace: str, group: str, resource: str, verb: str) -> bool:
    """What `kubectl auth can-i` asks; that one would have to know the kind."""
    name, _, subresource = resource.partition("/")
    asked = {"namespace": namespace, "group": group, "verb": verb}
    asked |= {"resource": name, "subresource": subresource}
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"]
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": ACCOUNT, "groups": groups, "resourceAttributes": asked},
    }
    answer = cluster.client.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def rights_in(table: Table) -> set[Right]:
    return {(group, resource, verb) for group, resource, verbs in table for verb in verbs}


def complete(lab: Lab, name: str) -> None:
    """Run a job to its end."""
    lab.submit(paddle_job(name, {"worker": (1, shell("exit 0"))}))
    lab.wait_completed(name)


def test_jobs_run_in_each(cluster: Cluster) -> None:
    for team in TEAMS:
        complete(Lab(cluster, team), "train")


def test_nothing_becomes_of_jobs_elsewhere(cluster: Cluster, elsewhere: str) -> None:
    lab = Lab(cluster, elsewhere)
    lab.submit(paddle_job("alone", {"worker": (1, shell("exit 0"))}))
    complete(Lab(cluster, TEAMS[0]), "after")
    by_default = {"observedGeneration": 0}
    assert (lab.status("alone"), lab.pods("alone")) == (by_default, [])


@pytest.mark.parametrize("team", TEAMS)
def test_rights_are_in_each(cluster: Cluster, team: str) -> None:
    assert allowed(cluster, team, RULES) == rights_in(RULES)


def test_no_right_is_elsewhere(cluster: Cluster, elsewhere: str) -> None:
    for namespace in (elsewhere, "default", "kube-system"):
        assert allowed(cluster, namespace, (*RULES, *LEASE_RULES, *CLUSTER_RULES)) == set()


def test_own_namespace_has_the_right_to_the_lease_alone(cluster: Cluster) -> None:
    assert allowed(cluster, NAMESPACE, (*RULES, *LEASE_RULES)) == rights_in(LEASE_RULES)


def test_operator_has_asked_for_nothing_elsewhere(cluster: Cluster) -> None:
    asked = {
        (entry["objectRef"].get("namespace", ""), entry["objectRef"]["resource"])
        for entry in audit_entries(cluster, STAGES)
        if entry["user"]["username"] == ACCOUNT and entry.get("objectRef")
    }
    assert {namespace for namespace, _ in asked} == {*TEAMS, NAMESPACE}
    assert {resource for namespace, resource in asked if namespace == NAMESPACE} == {"leases"}


def test_helm_test_says_what_works_and_fits_a_restricted_namespace(cluster: Cluster) -> None:
    restrict(Lab(cluster, NAMESPACE))
    done = Helm(cluster).run("test", RELEASE, patience.IN_KUBECTL)
    assert "Phase:          Succeeded" in done.stdout
    assert not cluster.kubectl("-n", NAMESPACE, "get", "pod", TEST, check=False).stdout


def test_what_the_cluster_shows_of_another_release_is_refused(cluster: Cluster) -> None:
    """All namespaces, or one of these, beside an operator of these."""
    second = Helm(cluster, "second")
    cluster.kubectl("create", "namespace", "second")
    try_out = ("install", "other", str(CHART), "--dry-run=server", "--set=crds.install=false")
    everywhere = second.run(*try_out, check=False)
    assert "gives another operator the jobs there" in everywhere.stderr
    scope = {"scope": {"kind": "List", "namespaces": ["team-b"]}, "userRoles": {"aggregate": False}}
    one = second.run(*try_out, values=scope, check=False)
    assert one.returncode
    assert 'Role "paddle-controller-manager" in namespace "team-b" exists' in one.stderr


def test_an_upgrade_of_a_list_needs_no_right_to_list_bindings(cluster: Cluster) -> None:
    verbs = ["get", "create", "update", "patch", "delete"]
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]},
    ]
    role: Raw = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    role |= {"metadata": {"name": "installer"}, "rules": rules}
    cluster.client.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    bind = ("create", "clusterrolebinding", "installer", "--clusterrole=installer")
    cluster.kubectl(*bind, "--user=installer")
    Helm(cluster).run(*UPGRADE, "--kube-as-user=installer", "--dry-run=server", values=SCOPE)


def test_a_flow_schema_needs_a_server_that_serves_it(cluster: Cluster) -> None:
    flow = {"flowSchema": {"enabled": True}} | SCOPE
    for version in ("v1.25.0", "v1.28.9-gke.100", "v1.29.3-gke.1"):
        asked = ("template", RELEASE, str(CHART), "--dry-run=server", f"--kube-version={version}")
        done = Helm(cluster).run(*asked, values=flow, check=False)
        assert ("flowSchema: Kubernetes" in done.stderr) == (version < "v1.29")


def test_only_its_administrator_starts_an_etcd_anew(cluster: Cluster, tmp_path: Path) -> None:
    """Not even the upgrade from a chart of another update strategy."""
    old = tmp_path / CHART.name
    shutil.copytree(CHART, old)
    template = old / "templates" / "elastic-etcd.yaml"
    template.write_text(re.sub("  updateStrategy:\n(   .*\n)+", "", template.read_text()))
    helm, lab = Helm(cluster), Lab(cluster, "team-a")
    etcd: Raw = {"namespaces": ["team-a"]}
    helm.run("upgrade", RELEASE, str(old), values=SCOPE | {"elasticEtcd": etcd})
    lab.wait(lambda: pods_of_etcd(lab), "etcd has a pod")
    before = pods_of_etcd(lab)
    etcd["podLabels"] = {"renewed": "yes"}
    helm.run(*UPGRADE, values=SCOPE | {"elasticEtcd": etcd})
    (found,) = lab.items("/apis/apps/v1", "statefulsets")
    seen = {"observedGeneration": found["metadata"]["generation"]}
    lab.wait(
        lambda: lab.items("/apis/apps/v1", "statefulsets")[0]["status"].items() >= seen.items(),
        "the upgrade is seen",
    )
    assert pods_of_etcd(lab) == before
    cluster.kubectl("-n", "team-a", "delete", "pod", "paddle-elastic-etcd-0")
    lab.wait(lambda: [each[1:] for each in pods_of_etcd(lab)] == [("yes", None)], "it is renewed")


def pods_of_etcd(lab: Lab) -> list[tuple[str, str | None, str | None]]:
    """UID, the label `renewed`, and since when it goes."""
    found = [each["metadata"] for each in lab.items("/api/v1", "pods")]
    return [
        (each["uid"], each["labels"].get("renewed"), each.get("deletionTimestamp"))
        for each in found
        if each["name"] == "paddle-elastic-etcd-0"
    ]


def test_a_namespace_that_goes_holds_up_no_other_and_can_come_back(cluster: Cluster) -> None:
    cluster.kubectl("delete", "namespace", "team-b", timeout_seconds=patience.SECONDS)
    # A new process reads everything anew.
    cluster.kubectl("-n", NAMESPACE, "rollout", "restart", f"deployment/{DEPLOYMENT}")
    lab = Lab(cluster, NAMESPACE)
    problem = "not synced: pods.v1 in team-b; the namespace or the Role in it is missing"
    lab.wait(lambda: problem in readiness(cluster), problem)
    failed = lambda line: "watch_failed" in line and "team-b" in line  # noqa: E731
    lab.wait(lambda: any(map(failed, logged(cluster))), "it is logged")
    complete(Lab(cluster, "team-a"), "meanwhile")
    assert Helm(cluster).run("test", RELEASE, patience.IN_KUBECTL, check=False).returncode
    lost = cluster.kubectl("-n", NAMESPACE, "logs", TEST).stdout
    assert "error: the PaddleJobs of team-b cannot be read" in lost
    cluster.kubectl("-n", NAMESPACE, "delete", "pod", TEST)
    said = Helm(cluster).run(*UPGRADE, values=SCOPE).stdout
    assert "The namespace team-b does not exist any more and is left out" in said
    lab.wait(lambda: readiness(cluster) == "ok\n", "the operator of what is left is ready")
    create_namespace(cluster, "team-b")
    Helm(cluster).run(*UPGRADE, values=SCOPE)
    complete(Lab(cluster, "team-b"), "train")


def readiness(cluster: Cluster) -> str:
    pods = cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    addresses = [pod["status"].get("podIP") for pod in pods]
    return "\n".join(ask(f"http://{each}:8081/readyz") for each in addresses if each)


def logged(cluster: Cluster) -> list[str]:
    of_operators = ("--selector=app.kubernetes.io/name=paddlejob-operator", "--tail=-1")
    return cluster.kubectl("-n", NAMESPACE, "logs", *of_operators).stdout.splitlines()


def ask(url: str) -> str:
    """The text of an answer, whatever its status; empty where nobody answers."""
    try:
        return http_get(url)[1]
    except OSError:
        return ""


def test_missing_namespace_is_told_before_anything_is_installed(cluster: Cluster) -> None:
    scope = {"scope": {"kind": "List", "namespaces": ["nowhere"]}, "fullnameOverride": "lost"}
    values = scope | {"crds": {"install": False}}
    lost = Helm(cluster, "lost")
    done = lost.run("install", "lost", str(CHART), "--create-namespace", values=values, check=False)
    assert done.returncode
    assert 'namespaces "nowhere" not found' in done.stderr


def test_a_list_may_grow_and_never_has_two_leaders(cluster: Cluster) -> None:
    create_namespace(cluster, "team-c")
    grown = {"scope": {"kind": "List", "namespaces": [*TEAMS, "team-c"]}}
    Helm(cluster).run(*UPGRADE, values=grown)
    complete(Lab(cluster, "team-c"), "train")
    assert len(Lab(cluster, NAMESPACE).items("/apis/coordination.k8s.io/v1", "leases")) == 1
