"""What a judgement says: findings, each with its evidence, and what the job went through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from api.catalogue.meaning import Meaning
from api.job import PaddleJob
from api.status import Failure
from pdj.facts.facts import Event, Remark
from pdj.facts.training import Training

Evidence = Mapping[str, Sequence[Remark]]
"""Lines by their titles, as `pdj.text.words.LABELS` names them."""


class Finding(NamedTuple):
    """One reason: what it means, what the operator said, since when, and what shows it."""

    reason: str
    meaning: Meaning
    message: str
    since: datetime | None
    evidence: Evidence = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Story:
    """Why a job is in its state: its findings, the headline first; `history` has its earlier ones.

    `events` are about the job and its pods, also pods that are gone; oldest first.
    """

    job: PaddleJob
    findings: tuple[Finding, ...]
    history: tuple[Finding, ...]
    warnings: tuple[Remark, ...]
    events: tuple[Event, ...]
    training: Training | None

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The job's failure records, oldest first."""
        return self.job.status.failures

    @property
    def evidence(self) -> Evidence:
        """That of all findings."""
        return {title: lines for each in self.findings for title, lines in each.evidence.items()}


def first_line(text: str) -> str:
    """The first line of a message, with an ellipsis where more follow."""
    first, *more = text.strip().splitlines() or [""]
    return f"{first} …" if more else first
