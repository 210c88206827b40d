"""Fills what documents repeat: the table of Kueue's reasons, and the number of the release."""

import re
from collections.abc import Iterator
from pathlib import Path

from api.catalogue.kueue import ROWS
from api.catalogue.meaning import LANGUAGES, Words, say
from api.constants import RELEASE

KUEUE_TITLES: Words = (
    "| Kueue's reason | meaning | what to do |",
    "| Kueue 的原因 | 含义 | 如何处理 |",
)
NUMBERED = ("README.md", "docs/install.md", "docs/install.zh.md")
NUMBER = re.compile(r"(paddlejob-operator:|/v|at version )\d+\.\d+\.\d+")


def render_documents(root: Path) -> dict[str, str]:
    """The text of each page that repeats something, with that made anew, by its path."""
    pages = {
        page: _fill((root / page).read_text(), language)
        for language, page in zip(LANGUAGES, ("docs/kueue.md", "docs/kueue.zh.md"), strict=True)
    }
    return pages | {
        page: NUMBER.sub(rf"\g<1>{RELEASE}", (root / page).read_text()) for page in NUMBERED
    }


def _fill(text: str, language: str) -> str:
    title = say(KUEUE_TITLES, language)
    before, _, after = text.partition(f"{title}\n")
    _, end, rest = after.partition("\n\n")
    return "\n".join([before + title, "|---|---|---|", *_kueue(language)]) + end + rest


def _kueue(language: str) -> Iterator[str]:
    for reasons, meaning in ROWS:
        names = ", ".join(f"`{each}`" for each in reasons.split())
        yield f"| {names} | {say(meaning.cause, language)} | {say(meaning.next_step, language)} |"
