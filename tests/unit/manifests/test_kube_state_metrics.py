"""The file for kube-state-metrics asks for fields that a PaddleJob has, and knows every phase."""

from collections.abc import Iterator
from typing import Any

import yaml

from api.constants import GROUP, KIND, VERSION, Phase
from api.crd import build_crd
from manifests.__main__ import ROOT

FILE = ROOT / "deploy" / "monitoring" / "kube-state-metrics.yaml"
(RESOURCE,) = yaml.safe_load(FILE.read_text())["spec"]["resources"]
TYPES = {"Gauge": "gauge", "StateSet": "stateSet"}


def paths() -> Iterator[list[str]]:
    """Every field that is asked for."""
    for metric in RESOURCE["metrics"]:
        asked = metric["each"][TYPES[metric["each"]["type"]]]
        yield asked["path"]
        inner = [asked["valueFrom"]] if "valueFrom" in asked else []
        for more in [*inner, *asked.get("labelsFromPath", {}).values()]:
            yield [*asked["path"], *more]


def test_fields_are_those_of_the_schema() -> None:
    (version,) = (v for v in build_crd()["spec"]["versions"] if v["name"] == VERSION)
    for path in paths():
        schema: Any = version["schema"]["openAPIV3Schema"]
        for name in path:
            schema = schema.get("items", schema)["properties"][name]


def test_kind_and_phases_are_ours() -> None:
    kind = {"group": GROUP, "version": VERSION, "kind": KIND}
    assert RESOURCE["groupVersionKind"] == kind
    phase = next(m for m in RESOURCE["metrics"] if m["name"] == "status_phase")
    assert phase["each"]["stateSet"]["list"] == [str(each) for each in Phase]
