"""docs/security.md lists every right of the operator, and names tests that exist."""

import re
from pathlib import Path

from manifests.rbac import (
    CLUSTER_RULES,
    KUEUE_RULES,
    LEASE_RULES,
    PROGRESS_RULES,
    REVIEW_RULES,
    RULES,
)

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "security.md").read_text()
RIGHT = re.compile(r"^\| `([\w/]+)` \| ([\w.-]+) \| ([a-z, ]+) \| \S", re.MULTILINE)
CORE = "core"
TABLES = (RULES, CLUSTER_RULES, LEASE_RULES, REVIEW_RULES, KUEUE_RULES, PROGRESS_RULES)


def test_every_right_is_explained_and_none_besides():
    told = {
        (group, resource): set(verbs.split(", ")) for resource, group, verbs in RIGHT.findall(PAGE)
    }
    granted = {
        (group or CORE, resource): set(verbs)
        for table in TABLES
        for group, resource, verbs in table
    }
    assert told == granted


def test_what_shows_it_exists():
    shown = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert len(shown) > 5
    assert not [path for path in shown if not (CHECKOUT / path).exists()]


def test_every_test_of_tenants_is_named():
    files = (CHECKOUT / "tests" / "cluster" / "tenants").glob("test_*.py")
    assert not [path.name for path in files if path.name not in PAGE]


def test_it_is_found_from_the_first_page():
    readme = (CHECKOUT / "README.md").read_text()
    assert "](docs/security.md)" in readme
    assert "](SECURITY.md)" in readme
