"""Every reason has its text in both languages."""

import re

import pytest

from api.constants import Reason
from pdj.explain import chinese, english
from pdj.explain.texts import Who

HAN = re.compile("[\u4e00-\u9fff]")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_text_in_both_languages(reason: Reason) -> None:
    one, other = english.TEXTS[reason], chinese.TEXTS[reason]
    for text in (one.cause, one.next_step):
        assert text.endswith(".")
        assert not HAN.search(text)
    for text in (other.cause, other.next_step):
        assert text.endswith("。")
        assert HAN.search(text)
    assert one.who is other.who


def test_texts_are_of_reasons_that_exist() -> None:
    assert english.TEXTS.keys() == chinese.TEXTS.keys() == set(Reason)


def test_words_around_them_are_the_same() -> None:
    assert english.LABELS.keys() == chinese.LABELS.keys()
    assert english.WHO.keys() == chinese.WHO.keys() == set(Who)


def test_who_acts_is_told_by_the_words() -> None:
    idle = [reason for reason, text in english.TEXTS.items() if text.who is Who.NOBODY]
    assert {Reason.ALL_PODS_RUNNING, Reason.WORKERS_SUCCEEDED} <= set(idle)
    assert english.TEXTS[Reason.IMAGE_ERROR].who is Who.USER
