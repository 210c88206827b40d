"""The chart's generated files: no flag is forgotten, and values and schema fit together."""

import re
from typing import Any

import pytest
import yaml

from controller.options import build_parser, parse_options
from manifests.__main__ import ROOT
from manifests.chart.flags import ELSEWHERE, flag_defaults, flag_values, to_camel_case
from manifests.chart.tree import Section, defaults
from manifests.chart.values import VALUES
from tests.production.values import RIGHT

CHART = ROOT / "charts" / "paddlejob-operator"
FLAGS = {value.name: value for value in flag_values()}


def leaves(nodes: Any, prefix: str = "") -> list[str]:
    found = []
    for node in nodes:
        if isinstance(node, Section):
            found += leaves(node.values, f"{prefix}{node.name}.")
        else:
            found.append(prefix + node.name)
    return found


def test_every_flag_is_a_value_below_operator_or_elsewhere() -> None:
    flags = {action.option_strings[-1].removeprefix("--") for action in build_parser({})._actions}
    assert {to_camel_case(flag) for flag in flags - {"help", "version", *ELSEWHERE}} == set(FLAGS)


def test_flags_without_a_default_of_the_charts_own_have_the_programs() -> None:
    options = parse_options([f"--{k}={v}" for k, v in flag_defaults().items()], {})
    assert options == parse_options([], {})


@pytest.mark.parametrize(
    ("name", "words"), [(n, v.schema["enum"]) for n, v in FLAGS.items() if "enum" in v.schema]
)
def test_words_of_the_schema_are_those_of_the_program(name: str, words: list[str]) -> None:
    flag = re.sub("[A-Z]", lambda found: f"-{found[0].lower()}", name)
    for word in words:
        parse_options([f"--{flag}={word}"], {})
    help_text = next(a.help for a in build_parser({})._actions if a.option_strings == [f"--{flag}"])
    told = set(re.findall(r"\w+", str(help_text)))
    assert set(words) - {""} <= told or name == "scheduling"


def test_values_file_has_the_defaults() -> None:
    assert yaml.safe_load((CHART / "values.yaml").read_text()) == defaults(VALUES)


def test_no_template_uses_a_value_that_is_not_there() -> None:
    known = set(leaves(VALUES))
    sections = {path.rpartition(".")[0] for path in known} - {""}
    parents = {s.partition(".")[0] for s in sections}
    templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([\w.]+)", templates))
    assert used <= known | sections | parents


def test_every_value_is_changed_once_by_a_test() -> None:
    assert set(RIGHT) == set(leaves(VALUES))


def test_what_artifact_hub_lists_is_the_crd() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (listed,) = yaml.safe_load(about["annotations"]["artifacthub.io/crds"])
    crd = yaml.load((ROOT / "deploy" / "v1" / "crd.yaml").read_text(), Loader=yaml.CSafeLoader)
    assert listed["name"] == crd["metadata"]["name"]
    assert listed["kind"] == crd["spec"]["names"]["kind"]
    assert [listed["version"]] == [each["name"] for each in crd["spec"]["versions"]]
