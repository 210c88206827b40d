"""Which jobs a list shows, and in which order. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from api.constants import TERMINAL_PHASES, Phase
from api.objects import Raw, moment_of, name_of, namespace_of
from pdj.errors import Usage

Sort = Literal["name", "age", "phase", "restarts"]
SORTS: tuple[str, ...] = get_args(Sort)


@dataclass(frozen=True, slots=True)
class Choice:
    """The first `limit` jobs by `sort`: by name, the youngest, by phase, those restarted most.

    `phase` is one, or several with commas between them; empty means any. `active` leaves out jobs
    that have ended, `since` those created more than so many seconds ago. Raises Usage for a value
    that cannot be meant.
    """

    phase: str = ""
    active: bool = False
    since: float | None = None
    limit: int | None = None
    sort: str = "name"

    def __post_init__(self) -> None:
        if unknown := _phases(self.phase) - {*Phase, ""}:
            raise Usage(f"no phase {', '.join(sorted(unknown))!r}; there are: {', '.join(Phase)}")
        if self.sort not in SORTS:
            raise Usage(f"jobs cannot be sorted by {self.sort!r}; there are: {', '.join(SORTS)}")
        if self.limit is not None and self.limit < 1:
            raise Usage(f"the limit must be 1 or more, not {self.limit}")

    def of(self, jobs: Iterable[Raw], now: datetime) -> tuple[list[Raw], int]:
        """The jobs that are chosen, and how many more there are beyond the limit."""
        chosen = sorted((job for job in jobs if self._has(job, now)), key=self._order)
        return chosen[: self.limit], len(chosen) - len(chosen[: self.limit])

    def _has(self, job: Raw, now: datetime) -> bool:
        phase = (job.get("status") or {}).get("phase")
        is_in = phase in _phases(self.phase) if self.phase else True
        is_young = self.since is None or now.timestamp() - _created(job) <= self.since
        return is_in and is_young and not (self.active and phase in TERMINAL_PHASES)

    def _order(self, job: Raw) -> tuple[float, str, str, str]:
        status = job.get("status") or {}
        phase = str(status.get("phase") or "") if self.sort == "phase" else ""
        restarts = (status.get("restartCount") or 0) if self.sort == "restarts" else 0
        created = _created(job) if self.sort == "age" else 0
        return -restarts - created, phase, namespace_of(job), name_of(job)


def _phases(text: str) -> set[str]:
    return {each.strip().capitalize() for each in text.split(",")}


def _created(job: Raw) -> float:
    """Seconds since 1970; 0 if that is unknown."""
    moment = moment_of(job["metadata"].get("creationTimestamp"))
    return moment.timestamp() if moment else 0
