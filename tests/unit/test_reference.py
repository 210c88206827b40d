"""docs/reference.md is fresh, has all there is, and fails for anything without a description."""

import argparse
import re

import pytest
from prometheus_client import Gauge

from api.catalogue.meaning import LANGUAGES, say
from api.catalogue.pods import EXIT_CODES, VARIABLES
from api.catalogue.reasons import REASONS
from api.catalogue.states import CONDITIONS, PHASES
from api.constants import Condition, Phase
from api.schema import job_schema
from api.training import RESUME_VARIABLE
from controller.options import build_parser
from manifests import reference
from manifests.reference import SINCE, render_reference
from metrics import Metrics
from reconcile.failure.incident import ELASTIC_GAVE_UP_CODE, LAUNCHER_CODES
from reconcile.objects.environment import ELASTIC_VARIABLES, POD_VARIABLES
from reconcile.objects.rendezvous import CONFIG_MAP_VARIABLES, HOST_LIST, PLAIN_VARIABLES
from tests.unit.test_catalogue import HAN
from tests.unit.test_documents import ROOT

PAGES = ("reference.md", "reference.zh.md")
UNOWNED = {HOST_LIST, "PADDLE_START_PORT", "RANK", "HETER_DEVICE_TYPE", "PYTHONUNBUFFERED"}
"""Variables that the operator sets, and a template may set, too."""


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_fresh(page):
    assert (ROOT / "docs" / page).read_text() == render_reference()[page]


@pytest.mark.parametrize("page", PAGES)
def test_it_has_every_reason_flag_and_field(page):
    text = render_reference()[page]
    flags = [each.option_strings[0] for each in build_parser({})._actions[2:]]
    fields = [f"spec.{name}" for name in job_schema()["properties"]["spec"]["properties"]]
    fields += [f"status.{name}" for name in job_schema()["properties"]["status"]["properties"]]
    names = [*REASONS, *flags, *fields, "spec.podFailurePolicy.rules[].onExitCodes.values"]
    assert [name for name in names if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (PHASES, {*Phase}),
        (CONDITIONS, {*Condition}),
        (
            VARIABLES,
            {*CONFIG_MAP_VARIABLES, *POD_VARIABLES, *ELASTIC_VARIABLES, *PLAIN_VARIABLES}
            | {RESUME_VARIABLE, *UNOWNED},
        ),
    ],
    ids=["phases", "conditions", "variables"],
)
def test_all_have_an_entry_and_nothing_else_has(told, known):
    assert {*told} == known


def test_the_exit_codes_that_the_operator_knows_are_listed():
    assert {*map(str, (*LAUNCHER_CODES, ELASTIC_GAVE_UP_CODE))} <= {*EXIT_CODES}


@pytest.mark.parametrize("words", [*PHASES.values(), *CONDITIONS.values(), *EXIT_CODES.values()])
def test_words_are_in_both_languages(words):
    assert [bool(HAN.search(say(words, language))) for language in LANGUAGES] == [False, True]
    assert "|" not in "".join(words), "it is a cell of a table"


def test_releases_are_those_of_fields():
    assert [
        path for path in SINCE if f"| `{path}` |" not in render_reference()["reference.md"]
    ] == []


def undescribed_field(patch: pytest.MonkeyPatch) -> None:
    schema = job_schema()
    schema["properties"]["spec"]["properties"]["new"] = {"type": "string"}
    patch.setattr(reference, "job_schema", lambda: schema)


def undescribed_flag(patch: pytest.MonkeyPatch) -> None:
    def with_one_more(environment: dict[str, str]) -> argparse.ArgumentParser:
        parser = build_parser(environment)
        parser.add_argument("--new")
        return parser

    patch.setattr(reference, "build_parser", with_one_more)


class MoreMetrics(Metrics):
    """With one that says nothing of itself."""

    def __init__(self) -> None:
        super().__init__()
        Gauge("paddlejob_new", "", registry=self._registry)


def undescribed_label(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reference, "list_labels", lambda: {"new": ""})


@pytest.mark.parametrize(
    ("name", "break_source"),
    [
        ("spec.new", undescribed_field),
        ("--new", undescribed_flag),
        ("paddlejob_new", lambda patch: patch.setattr(reference, "Metrics", MoreMetrics)),
        ("new", undescribed_label),
        ("NEW", lambda patch: patch.setattr(reference, "VARIABLES", {"NEW": ""})),
        ("New", lambda patch: patch.setattr(reference, "PHASES", {"New": ("", "")})),
    ],
    ids=["field", "flag", "metric", "label", "variable", "phase"],
)
def test_what_has_no_description_fails(monkeypatch, name, break_source):
    break_source(monkeypatch)
    with pytest.raises(ValueError, match=re.escape(f"`{name}` has no description")):
        render_reference()


def test_every_label_in_the_constants_has_a_text_below_it():
    assert len(reference.list_labels()) > 25
    assert [name for name, text in reference.list_labels().items() if not text] == []


def test_a_family_is_listed_with_its_labels():
    rows = {name: labels for name, labels, _ in reference.list_metrics()}
    assert rows["`paddlejob_failed_total`"] == "mode, reason"
    assert rows["`paddlejob_clock_ahead_seconds`"] == "–"
    families = re.findall(r"^# TYPE (\S+) ", Metrics().exposition("")[0].decode(), re.MULTILINE)
    ours = [each for each in families if not each.startswith(("process_", "python_"))]
    assert [each for each in ours if f"`{each}`" not in rows] == []
