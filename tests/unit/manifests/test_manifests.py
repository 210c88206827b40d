"""The generated manifests are current, ask for no more than they need, and fit where they go."""

import json
from functools import cache
from typing import Any

import pytest
import yaml

from manifests.__main__ import FOLDER, render

Raw = dict[str, Any]
ROOT = FOLDER.parent
MAX_CRD_BYTES = 240_000
FILES = render()
OPERATORS = sorted(name for name in FILES if "operator" in name)


@cache
def documents(name: str) -> list[Raw]:
    """The objects of a manifest."""
    return list(yaml.load_all((FOLDER / name).read_text(), Loader=yaml.CSafeLoader))


def of_kind(name: str, *kinds: str) -> list[Raw]:
    """Those of these kinds."""
    return [doc for doc in documents(name) if doc["kind"] in kinds]


def rules_of(name: str) -> list[Raw]:
    """All RBAC rules of a manifest."""
    return [rule for role in of_kind(name, "Role", "ClusterRole") for rule in role["rules"]]


@pytest.mark.parametrize("name", FILES)
def test_file_is_current(name: str) -> None:
    assert (FOLDER / name).read_text() == FILES[name], "run make generate"


@pytest.mark.parametrize("name", ["v1/crd.yaml", "v1beta1/crd.yaml"])
def test_crd_fits_in_an_annotation(name: str) -> None:
    (crd,) = documents(name)
    assert len(json.dumps(crd, separators=(",", ":")).encode()) < MAX_CRD_BYTES


@pytest.mark.parametrize("name", ["crd.yaml", "operator.yaml"])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_deploy_leads_to_the_manifests(version: str, name: str) -> None:
    assert (ROOT / "deploy" / version / name).samefile(FOLDER / version / name)


def test_deploy_leads_to_the_examples() -> None:
    assert (ROOT / "deploy" / "examples").samefile(ROOT / "examples")


@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_is_granted_in_bulk(name: str) -> None:
    for rule in rules_of(name):
        assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
        assert not {"secrets", "pods/exec"} & set(rule["resources"])
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_one_namespace_takes_roles_alone(version: str) -> None:
    kinds = {doc["kind"] for doc in documents(f"{version}/operator.yaml")}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}
    assert "nodes" not in {
        r for rule in rules_of(f"{version}/operator.yaml") for r in rule["resources"]
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_scope_matches_the_rights(name: str) -> None:
    (deployment,) = of_kind(name, "Deployment")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    is_everywhere = bool(of_kind(name, "ClusterRole"))
    assert ("--namespace=paddle-system" in arguments) != is_everywhere


@pytest.mark.parametrize("name", OPERATORS)
def test_bindings_bind_what_is_there(name: str) -> None:
    roles = {(doc["kind"], doc["metadata"]["name"]) for doc in of_kind(name, "Role", "ClusterRole")}
    accounts = {doc["metadata"]["name"] for doc in of_kind(name, "ServiceAccount")}
    for binding in of_kind(name, "RoleBinding", "ClusterRoleBinding"):
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in roles
        assert {subject["name"] for subject in binding["subjects"]} <= accounts
