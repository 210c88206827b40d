"""The form of an entry in the catalogue, and its languages."""

from enum import StrEnum
from typing import Final, NamedTuple

LANGUAGES: Final = ("en", "zh")
Words = tuple[str, str]
"""The same in each of LANGUAGES."""


class Who(StrEnum):
    """Who has to act next."""

    NOBODY = "nobody"
    USER = "user"
    ADMIN = "administrator"
    OPERATOR = "operator"


class Meaning(NamedTuple):
    """What a reason means. `seen` and `note` are for the documents: where it stands, and more."""

    who: Who
    seen: str
    cause: Words
    next_step: Words
    note: Words = ("", "")

    @property
    def clause(self) -> str:
        """The next step in English as the end of a sentence: `wait for quota, or ask for less`."""
        step = self.next_step[0]
        return f"{step[0].lower()}{step[1:].removesuffix('.')}"


WHO: Final[dict[Who, Words]] = {
    Who.NOBODY: ("nobody", "无需任何人处理"),
    Who.USER: ("you, the owner of the job", "您（作业的所有者）"),
    Who.ADMIN: ("an administrator of the cluster", "集群管理员"),
    Who.OPERATOR: ("the operator, by itself", "operator 会自动处理"),
}


def say(words: Words | str, language: str) -> str:
    """The words in this language, English for one that is unknown; a plain text as it is."""
    return words if isinstance(words, str) else words[language == LANGUAGES[1]]


def say_both(first: Words, second: Words, language: str) -> str:
    """One sentence after the other. Chinese has no space between them."""
    return (say(first, language) + say((" ", ""), language) + say(second, language)).rstrip()
