"""Fills the table of Kueue's reasons in both languages of its page, from the catalogue."""

from collections.abc import Iterator
from pathlib import Path

from api.catalogue.kueue import ROWS
from api.catalogue.meaning import LANGUAGES, Words, say

KUEUE_TITLES: Words = (
    "| Kueue's reason | meaning | what to do |",
    "| Kueue 的原因 | 含义 | 如何处理 |",
)


def render_documents(docs: Path) -> dict[str, str]:
    """The text of each page that has the table, with the table made anew, by its name."""
    return {
        page: _fill((docs / page).read_text(), language)
        for language, page in zip(LANGUAGES, ("kueue.md", "kueue.zh.md"), strict=True)
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
