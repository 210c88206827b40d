"""Alerts and panels ask for metrics that there are, and each alert has its paragraph."""

import json
import re

import pytest

from manifests.__main__ import ROOT
from manifests.alerts import ALERTS, LATE, build_rules
from manifests.dashboard import ROWS, render_dashboard
from manifests.reference import list_metrics

PAGES = {name: (ROOT / "docs" / name).read_text() for name in ("alerts.md", "alerts.zh.md")}
QUERIES = [alert.query for alert in ALERTS]
QUERIES += [rule["expr"] for rule in build_rules()["groups"][0]["rules"]]
QUERIES += [query.text for panels in ROWS.values() for panel in panels for query in panel.queries]
FAMILY = r"\b((?:paddlejob|controller_runtime|workqueue|rest_client|leader_election|process)_\w+)"


@pytest.mark.parametrize("page", PAGES)
def test_every_alert_has_its_paragraph_and_none_besides(page: str) -> None:
    told = re.findall(r"^### (\w+)$", PAGES[page], re.MULTILINE)
    assert told == [alert.name for alert in ALERTS]


def test_both_languages_have_the_same_commands_for_an_alert() -> None:
    """tests/production/test_causes.py runs those of the English page."""
    english, chinese = (re.split("^### ", text, flags=re.MULTILINE) for text in PAGES.values())
    for one, other in zip(english, chinese, strict=True):
        assert re.findall("`(kubectl [^`]+)`", one) == re.findall("`(kubectl [^`]+)`", other)


def test_runbooks_lead_to_the_paragraphs() -> None:
    for rule in build_rules()["groups"][1]["rules"]:
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert f"\n### {rule['alert']}\n" in (ROOT / page).read_text()
        assert anchor == rule["alert"].lower()


def test_no_alert_mixes_operators_of_several_clusters() -> None:
    for rule in [rule for group in build_rules()["groups"] for rule in group["rules"]]:
        for labels in re.findall(r"\b(?:by|on) \((\w[^)]*)\)", rule["expr"]):
            assert labels.startswith("cluster, namespace"), rule["expr"]


def test_every_number_that_an_alert_compares_with_is_a_limit() -> None:
    """Whether an operator is there and leads has none."""
    for alert in ALERTS:
        is_there = alert.name.startswith("PaddleJobOperator") and alert.severity == "critical"
        assert (alert.limit is None) == is_there
        assert alert.query.count("{limit}") >= (not is_there)


def test_queries_ask_for_metrics_that_there_are() -> None:
    process = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
    known = {name.strip("`") for name, *_ in list_metrics()} | process
    for query in QUERIES:
        asked = re.findall(FAMILY, re.sub('"[^"]*"', "", query))
        assert asked or LATE in query
        assert {re.sub("_(bucket|count|sum)$", "", name) for name in asked} <= known


def test_panels_are_those_of_the_file() -> None:
    made = json.loads(render_dashboard())
    panels = [panel for panel in made["panels"] if panel["type"] != "row"]
    assert [panel["title"] for panel in panels] == [p.title for row in ROWS.values() for p in row]
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])
    for panel in panels:
        assert panel["targets"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_no_two_panels_overlap() -> None:
    cells = [
        (x, y)
        for panel in json.loads(render_dashboard())["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))


def test_a_scale_makes_every_span_shorter() -> None:
    whole, short = (
        {r["alert"]: r for r in build_rules(s)["groups"][1]["rules"]} for s in (1, 0.01)
    )
    assert "[15m]" in whole["PaddleJobEventsDropped"]["expr"]
    assert "[9s]" in short["PaddleJobEventsDropped"]["expr"]
    assert short["PaddleJobOperatorDown"]["for"] == "3s"
    assert short["PaddleJobsPendingTooLong"]["expr"].endswith("> 36")
