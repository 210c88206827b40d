"""The generated manifests are current, ask for no more than they need, and fit where they go."""

import itertools
import json
import re
import shutil
import subprocess
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from api.constants import OPERATOR_LABELS, RELEASE, Role
from api.crd import PROTECTION
from manifests.__main__ import ROOT, render
from manifests.rbac import AGGREGATE
from tests.memory.builders import a_job, a_pod

Raw = dict[str, Any]
FOLDER = ROOT / "manifests"
MAX_CRD_BYTES = 240_000
FILES = render()
PLAIN = "manifests/v1"
OPERATORS = sorted(
    name.removeprefix("manifests/")
    for name in FILES
    if name.startswith(PLAIN) and "operator" in name
)
ETCD = "elastic/etcd.yaml"


@cache
def documents(name: str) -> list[Raw]:
    return list(yaml.load_all((FOLDER / name).read_text(), Loader=yaml.CSafeLoader))


def of_kind(name: str, *kinds: str) -> list[Raw]:
    return [doc for doc in documents(name) if doc["kind"] in kinds]


def container_of(name: str) -> Raw:
    (deployment,) = of_kind(name, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: Raw = container
    return found


def rules_of(name: str) -> list[Raw]:
    return [rule for role in of_kind(name, "Role", "ClusterRole") for rule in role["rules"]]


@pytest.mark.parametrize("name", FILES)
def test_file_is_current(name: str) -> None:
    assert (ROOT / name).read_text() == FILES[name], "run make generate"


@pytest.mark.parametrize("name", ["v1/crd.yaml", "v1beta1/crd.yaml"])
def test_crd_fits_in_an_annotation(name: str) -> None:
    (crd,) = documents(name)
    assert len(json.dumps(crd, separators=(",", ":")).encode()) < MAX_CRD_BYTES


LINKS = [
    *(f"{version}/{name}.yaml" for version in ("v1", "v1beta1") for name in ("crd", "operator"))
]


@pytest.mark.parametrize(
    ("name", "place"),
    [*((name, FOLDER / name) for name in (*LINKS, "kustomize")), ("examples", ROOT / "examples")],
)
def test_deploy_leads_to_the_manifests_and_examples(name: str, place: Path) -> None:
    assert (ROOT / "deploy" / name).samefile(place)


@pytest.mark.parametrize("folder", ["base", "one-namespace"])
def test_bases_name_no_namespace_in_arguments(folder: str) -> None:
    container = container_of(f"kustomize/{folder}/operator.yaml")
    assert not [argument for argument in container["args"] if "paddle-system" in argument]
    used = {name for name in ("POD_IP", "POD_NAMESPACE") if f"$({name})" in str(container["args"])}
    assert {variable["name"] for variable in container["env"]} == used


def test_users_roles_become_part_of_kubernetes_own() -> None:
    found: dict[str, set[str]] = {}
    for role in of_kind("v1/operator-all-namespaces.yaml", "ClusterRole"):
        labels = role["metadata"]["labels"]
        into = {k.removeprefix(AGGREGATE) for k, v in labels.items() if k.startswith(AGGREGATE)}
        verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
        found |= dict.fromkeys(into, verbs)
    assert set(found) == {"view", "edit", "admin"}
    assert found["view"] == {"get", "list", "watch"}
    assert found["edit"] == found["admin"] > found["view"] | {"create", "delete", "patch"}


@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_is_granted_in_bulk(name: str) -> None:
    for rule in rules_of(name):
        assert "*" not in itertools.chain.from_iterable(rule.values())
        assert not {"secrets", "pods/exec"} & set(rule.get("resources", ()))
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_one_namespace_takes_roles_alone(version: str) -> None:
    kinds = {doc["kind"] for doc in documents(f"{version}/operator.yaml")}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}
    assert "nodes" not in {
        r for rule in rules_of(f"{version}/operator.yaml") for r in rule["resources"]
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_scope_and_metrics_match_the_rights(name: str) -> None:
    arguments, is_everywhere = container_of(name)["args"], bool(of_kind(name, "ClusterRole"))
    assert ("--namespace=paddle-system" in arguments) != is_everywhere
    asked = {resource for rule in rules_of(name) for resource in rule.get("resources", ())}
    reviews = {"tokenreviews", "subjectaccessreviews"}
    assert ("--metrics-secure" in arguments) == is_everywhere
    assert asked & reviews == (reviews if is_everywhere else set())


@pytest.mark.parametrize("name", OPERATORS)
def test_bindings_bind_what_is_there(name: str) -> None:
    roles = {(doc["kind"], doc["metadata"]["name"]) for doc in of_kind(name, "Role", "ClusterRole")}
    accounts = {doc["metadata"]["name"] for doc in of_kind(name, "ServiceAccount")}
    for binding in of_kind(name, "RoleBinding", "ClusterRoleBinding"):
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in roles
        assert {subject["name"] for subject in binding["subjects"]} <= accounts


def test_etcd_of_elastic_jobs_lets_in_pods_of_its_own_namespace_only() -> None:
    service, _, policy = documents(ETCD)
    assert not any("namespace" in each["metadata"] for each in documents(ETCD))
    assert policy["spec"]["podSelector"]["matchLabels"] == service["spec"]["selector"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    ((rule,), (port,)) = (policy["spec"]["ingress"], service["spec"]["ports"])
    assert rule["ports"] == [{"port": port["port"]}]
    # Without a namespaceSelector a peer is of the policy's own namespace.
    (peer,) = rule["from"]
    assert peer == {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "paddlejob"}}}


@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::7"])
def test_etcd_of_elastic_jobs_listens_whatever_the_family_of_its_pods_address(address: str) -> None:
    (etcd,) = of_kind(ETCD, "StatefulSet")
    words = " ".join(etcd["spec"]["template"]["spec"]["containers"][0]["command"])
    for name, value in {"POD_IP": address, "POD_NAME": "a", "POD_NAMESPACE": "b"}.items():
        words = words.replace(f"$({name})", value)
    places = [urlsplit(url).netloc for url in re.findall(r"http://\S+", words)]
    assert len(places) == 5
    assert all(re.fullmatch(r"[\w.-]+:\d+", place) for place in places)


def test_etcd_of_elastic_jobs_is_started_anew_by_nobody_but_its_administrator() -> None:
    (etcd,) = of_kind(ETCD, "StatefulSet")
    assert etcd["spec"]["updateStrategy"] == {"type": "OnDelete", "rollingUpdate": None}


def test_policy_of_the_network_is_of_the_pods_that_the_operator_makes() -> None:
    (policy,) = documents("policies/network.yaml")
    pod = a_pod(a_job().with_workers(2).build(), Role.WORKER).build()["metadata"]["labels"]

    def selects(selector: Raw, labels: Raw) -> bool:
        wanted = selector.get("matchLabels", {}).items() <= labels.items()
        return wanted and all(
            each["key"] in labels for each in selector.get("matchExpressions", ())
        )

    assert selects(policy["spec"]["podSelector"], pod)
    peers = [rule["from"][0]["podSelector"] for rule in policy["spec"]["ingress"]]
    assert [selects(each, pod) for each in peers] == [True]
    others, etcd, names = policy["spec"]["egress"]
    assert selects(others["to"][0]["podSelector"], pod)
    assert "ports" not in others
    (service, _, _) = documents(ETCD)
    assert etcd["to"][0]["podSelector"]["matchLabels"] == service["spec"]["selector"]
    assert [each["port"] for each in etcd["ports"]] == [2379]
    assert {each["protocol"] for each in names["ports"]} == {"UDP", "TCP"}


def test_etcd_of_elastic_jobs_cannot_grow_without_bound() -> None:
    (etcd,) = of_kind(ETCD, "StatefulSet")
    pod = etcd["spec"]["template"]["spec"]
    flags = dict(f.removeprefix("--").split("=", 1) for f in pod["containers"][0]["command"][1:])
    assert int(flags["quota-backend-bytes"]) <= 256 << 20
    assert (flags["auto-compaction-mode"], flags["auto-compaction-retention"]) == ("periodic", "1m")
    assert pod["volumes"] == [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    assert pod["automountServiceAccountToken"] is False


@pytest.mark.parametrize("name", ["v1/crd.yaml", "v1beta1/crd.yaml", *OPERATORS])
def test_all_but_the_namespace_is_selected_by_the_operators_label(name: str) -> None:
    labelled = {doc["kind"]: doc["metadata"].get("labels", {}) for doc in documents(name)}
    assert not labelled.pop("Namespace", {})
    assert all(labels.items() >= OPERATOR_LABELS.items() for labels in labelled.values())


@pytest.mark.parametrize(
    "name", ["v1/crd.yaml", "v1beta1/crd.yaml", "kustomize/base/operator.yaml", *OPERATORS]
)
def test_gitops_neither_prunes_nor_deletes_what_holds_all_jobs(name: str) -> None:
    marks = {doc["kind"]: doc["metadata"].get("annotations", {}) for doc in documents(name)}
    holders = marks.keys() & {"CustomResourceDefinition", "Namespace"}
    assert holders
    assert {kind for kind, found in marks.items() if found.items() >= PROTECTION.items()} == holders


def test_the_page_names_ones_own_image_in_every_manifest(tmp_path: Path) -> None:
    """The build itself needs Docker; its tag is what the second command writes."""
    page = (ROOT / "docs" / "install.md").read_text()
    commands = [line for line in page.splitlines() if "docker" in line]
    (build,) = (line for line in commands if line.startswith("docker build"))
    image = build.split("--tag ")[1].split()[0]
    (change,) = re.findall(r"^sed -i .*$", page, re.MULTILINE)
    shutil.copytree(ROOT / "deploy/v1", tmp_path / "deploy/v1")
    subprocess.run(["bash", "-c", change], cwd=tmp_path, check=True)
    for file in (tmp_path / "deploy/v1").glob("operator*.yaml"):
        assert re.findall(r"image: (\S+)", file.read_text()) == [image]


def test_release_is_the_same_everywhere() -> None:
    """Of the package, the image, the chart, the documents and the newest notes."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["metadata"]["version"] == "attr: api.constants.RELEASE"
    chart = yaml.safe_load((ROOT / "charts" / "paddlejob-operator" / "Chart.yaml").read_text())
    assert {chart["version"], str(chart["appVersion"])} == {RELEASE}
    pages = {path: path.read_text() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]}
    ours = r"(?:paddlejob-operator:|paddlejob-operator/\S+/v|at version )(\d+\.\d+\.\d+)"
    assert {number for page in pages.values() for number in re.findall(ours, page)} == {RELEASE}
    assert re.findall(r"^## (\d\S+)", pages[ROOT / "CHANGELOG.md"], re.MULTILINE)[0] == RELEASE
