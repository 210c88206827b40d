"""docs/operator.md and docs/status.md list every flag, metric, phase and condition."""

import re
from pathlib import Path

import pytest

from api.constants import Condition, Phase
from controller.options import build_parser
from metrics import Census, Metrics, NamespaceCensus

DOCS = Path(__file__).parents[2] / "docs"
OPERATOR = (DOCS / "operator.md").read_text()
STATUS = (DOCS / "status.md").read_text()


def rows(text: str, header: str) -> list[list[str]]:
    """The rows of the table below this header row, cell by cell."""
    table = text.split(f"\n{header}\n")[1].split("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]


def test_flags_and_their_defaults():
    told = dict(re.findall(r"^\| `--([\w-]+)` \|\s*(.*?)\s*\|", OPERATOR, re.MULTILINE))
    flags = {
        action.option_strings[0].removeprefix("--"): str(action.default)
        for action in build_parser({})._actions
        if action.dest not in ("help", "version")
    }
    assert told == flags


def test_metrics_and_their_labels():
    told = {
        name: set(re.findall(r"`(\w+)`", labels))
        for name, labels, _ in rows(OPERATOR, "| metric | labels | meaning |")
    }
    assert told == {f"`{name}`": labels for name, labels in exposed(all_metrics()).items()}


def all_metrics() -> Metrics:
    """With a sample of each family."""
    metrics = Metrics()
    metrics.describe_build("1.0", "0123abc")
    one = {("", ""): 1}
    metrics.count_state(lambda: Census(one, one, one, {("", ""): 1.0}, {"held": 8}))
    metrics.count_namespaces(lambda: NamespaceCensus(one, one, one))
    for kind in ("failed", "restarted", "lost"):
        metrics.record_outcome("team", (kind, "PS", "PodFailed", 1.0, 8))
    metrics.client.watch_age("pods.v1", lambda: 0.0)
    metrics.client.requested(200, "GET", "server")
    metrics.client.set_leader("lease", True)
    metrics.jobs.preset(["PodFailed"], ["PodFailed"])
    return metrics


def exposed(metrics: Metrics) -> dict[str, set[str]]:
    """The label names of each family of ours, by the family's name."""
    text = metrics.exposition("")[0].decode()
    types = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    found: dict[str, set[str]] = {}
    for name, kind in types.items():
        sample = f"{name}_count" if kind == "histogram" else name
        (labels, *_) = re.findall(rf"^{sample}(?:{{(.*)}})? ", text, re.MULTILINE) or [""]
        if not name.startswith(("process_", "python_")):
            found[name] = set(re.findall(r'(\w+)="', labels))
    return found


@pytest.mark.parametrize(
    ("header", "known"),
    [("| phase | meaning |", Phase), ("| condition | true while |", Condition)],
    ids=["phases", "conditions"],
)
def test_phases_and_conditions(header, known):
    told = ", ".join(row[0] for row in rows(STATUS, header)).split(", ")
    assert sorted(told) == sorted(known)
