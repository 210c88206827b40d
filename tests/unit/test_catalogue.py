"""The catalogue of reasons is whole in both languages, and the documents are made from it."""

import re

import pytest

from api.catalogue import causes
from api.catalogue.kueue import KUEUE
from api.catalogue.meaning import WHO, Meaning, Who
from api.catalogue.reasons import REASONS
from api.constants import ATTEMPT_ENDS, FAILURE_REASONS, STALLS, WAITS, Condition, Reason
from manifests.documents import render_documents
from pdj.text.words import LABELS, PROGRESS
from reconcile.words.fault import Fault
from tests.unit.test_documents import ROOT

HAN = re.compile("[\u4e00-\u9fff]")
CAUSES = {name: each for name, each in vars(causes).items() if isinstance(each, Meaning)}
CATALOGUE = {
    **REASONS,
    **CAUSES,
    **{f"the fault {each}": meaning for each, meaning in causes.FAULTS.items()},
    **{f"Kueue's {each}": meaning for each, meaning in KUEUE.items()},
}


@pytest.mark.parametrize("meaning", CATALOGUE.values(), ids=CATALOGUE)
def test_every_reason_has_its_words_in_both_languages(meaning):
    notes = [meaning.note] if any(meaning.note) else []
    for english, chinese in (meaning.cause, meaning.next_step, *notes):
        assert english.endswith(".")
        assert not HAN.search(english)
        assert chinese.endswith("。")
        assert HAN.search(chinese)
        assert "|" not in english + chinese, "it is a cell of a table"
    assert isinstance(meaning.who, Who)


@pytest.mark.parametrize(
    ("told", "known"),
    [(REASONS, Reason), (causes.FAULTS, Fault), (WHO, Who)],
    ids=["reasons", "faults", "who"],
)
def test_all_have_an_entry_and_nothing_else_has(told, known):
    assert list(told) == list(known)


@pytest.mark.parametrize("words", [*WHO.values(), *LABELS.values(), *PROGRESS.values()], ids=str)
def test_both_languages_have_the_same_places_to_fill(words):
    english, chinese = words
    assert english.count("{}") == chinese.count("{}")
    assert not HAN.search(english)


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_stands_where_the_catalogue_says(reason):
    seen = {each.removesuffix(" (false)") for each in REASONS[reason].seen.split(", ")}
    assert seen <= {*map(str, Condition), "Event", "any"}
    for reasons, condition in (
        (WAITS, "Pending"), (FAILURE_REASONS, "Failed"), (ATTEMPT_ENDS, "Restarting"),
        (STALLS, "TrainingStalled"),
    ):  # fmt: skip
        assert condition in seen or reason not in reasons


@pytest.mark.parametrize("page", ["kueue.md", "kueue.zh.md"])
def test_the_tables_of_the_documents_are_made_from_it(page):
    assert render_documents(ROOT)[f"docs/{page}"] == (ROOT / "docs" / page).read_text()
    assert not [each for each in KUEUE if f"`{each}`" not in (ROOT / "docs" / page).read_text()]
