"""The operator's rights against what it did: nothing missing, nothing unused.

What it did stands in the API server's audit log of the whole test run, so this module runs last.
Whether a right is unused can be told only where the rest of the suite has run before.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import Cluster
from tests.faults.proxy import audit_entries

MANIFEST = Path(__file__).parents[2] / "manifests" / "v1" / "operator-all-namespaces.yaml"
ACCOUNT = "system:serviceaccount:paddle-system:paddle-controller-manager"
ASKED_BY_ADMISSION = {("batch.paddlepaddle.org", "paddlejobs/finalizers", "update")}
"""OwnerReferencesPermissionEnforcement checks it; no request uses it."""
FORBIDDEN = 403
SUITE = "tests/cluster/test_rows_"
Right = tuple[str, str, str]


def granted() -> set[Right]:
    """(group, resource, verb) of every rule in the manifest."""
    documents = yaml.safe_load_all(MANIFEST.read_text())
    return {
        (group, resource, verb)
        for document in documents
        if document and document["kind"] in ("Role", "ClusterRole")
        for rule in document["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(cluster: Cluster) -> dict[Right, list[int]]:
    """What the operator asked for, and the codes that it was answered with."""
    found: dict[Right, list[int]] = {}
    for entry in audit_entries(cluster):
        what = entry.get("objectRef")
        if entry["user"]["username"] == ACCOUNT and what:
            found.setdefault(right_of(entry["verb"], what), []).append(
                entry["responseStatus"].get("code", 0)
            )
    return found


def right_of(verb: str, what: dict[str, Any]) -> Right:
    """The right that a request needs."""
    resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
    return (what.get("apiGroup", ""), resource, verb)


def test_no_right_is_missing(operated: Cluster) -> None:
    asked = used(operated)
    assert asked, "the operator has asked for nothing: the log or the account's name is wrong"
    assert set(asked) - granted() == set()


@pytest.mark.parametrize("word", ["*", "secrets", "pods/exec"])
def test_no_right_is_dangerous(word: str) -> None:
    assert not [right for right in granted() if word in right]


def test_no_right_is_unused(operated: Cluster, request: pytest.FixtureRequest) -> None:
    if not any(item.nodeid.startswith(SUITE) for item in request.session.items):
        pytest.skip("only the whole suite uses every right")
    assert granted() - set(used(operated)) - ASKED_BY_ADMISSION == set()
