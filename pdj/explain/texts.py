"""The meaning of each reason: its cause, what to do next, and who has to do it."""

from dataclasses import dataclass
from enum import StrEnum

from api.constants import Reason


class Who(StrEnum):
    """Who has to act next."""

    NOBODY = "nobody"
    USER = "user"
    ADMIN = "administrator"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Text:
    """One reason in one language."""

    cause: str
    next_step: str
    who: Who


Texts = dict[Reason, Text]
LANGUAGES = ("en", "zh")
