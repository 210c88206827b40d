"""Fills the tables of reasons in the documents, in both languages, from the catalogue."""

from collections.abc import Iterator
from pathlib import Path

from api.catalogue.kueue import ROWS
from api.catalogue.meaning import LANGUAGES, WHO, Words, say
from api.catalogue.reasons import REASONS

REASON_TITLES: Words = (
    "| reason | seen in | meaning | who acts | next step |",
    "| 原因 | 出现在 | 含义 | 由谁处理 | 下一步 |",
)
KUEUE_TITLES: Words = (
    "| Kueue's reason | meaning | what to do |",
    "| Kueue 的原因 | 含义 | 如何处理 |",
)


MESSAGE_TITLES: Words = ("| reason | message |", "| 原因 | 信息 |")
"""The operator's own sentences, as the English page has them."""


def render_documents(docs: Path) -> dict[str, str]:
    """The text of each page that has a table of reasons, with the table made anew, by its name."""
    sentences = _table((docs / "status.md").read_text(), MESSAGE_TITLES[0])
    return {
        page: _fill((docs / page).read_text(), language, sentences)
        for language, end in zip(LANGUAGES, (".md", ".zh.md"), strict=True)
        for page in (f"status{end}", f"kueue{end}")
    }


def _table(text: str, title: str) -> list[str]:
    """The rows of a table."""
    return text.partition(f"{title}\n")[2].partition("\n\n")[0].splitlines()[1:]


def _fill(text: str, language: str, sentences: list[str]) -> str:
    for titles, rows in (
        (REASON_TITLES, _reasons(language)),
        (KUEUE_TITLES, _kueue(language)),
        (MESSAGE_TITLES, sentences),
    ):
        title = say(titles, language)
        before, found, after = text.partition(f"{title}\n")
        if found:
            ruler = "|" + "---|" * (title.count("|") - 1)
            _, end, rest = after.partition("\n\n")
            text = "\n".join([before + title, ruler, *rows]) + end + rest
    return text


def _reasons(language: str) -> Iterator[str]:
    for reason, (who, seen, cause, next_step, note) in REASONS.items():
        meaning = f"{say(cause, language)} {say(note, language)}".strip()
        yield _row(f"`{reason}`", seen, meaning, say(WHO[who], language), say(next_step, language))


def _kueue(language: str) -> Iterator[str]:
    for reasons, meaning in ROWS:
        names = ", ".join(f"`{each}`" for each in reasons.split())
        yield _row(names, say(meaning.cause, language), say(meaning.next_step, language))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
