"""Corrects a status with future times: the clock was set back, or another leader's is fast."""

from dataclasses import replace
from datetime import UTC, datetime

from api.objects import format_time, parse_time
from api.status import CLOCK_SKEW, JobStatus

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""No time is moved to before this: a time of the year 9999 would push others off the calendar."""


def follow_clock(status: JobStatus, now: datetime) -> JobStatus:
    """The status, with its times moved back if the newest is more than CLOCK_SKEW in the future.

    Otherwise, everything that counts from one of these times would wait until the clock has caught
    up. They are moved together, because deadlines depend on the differences between them. The times
    of failure records and of the progress stay.
    """
    times = [status.start_time, status.completion_time, status.lost_since, status.waiting.since]
    times.append(status.given_back_at)
    times += [condition.last_transition_time for condition in status.conditions]
    ahead = max(
        (moment - now for text in times if (moment := parse_time(text))), default=CLOCK_SKEW
    )
    if ahead <= CLOCK_SKEW:
        return status

    def move(text: str) -> str:
        moment = parse_time(text)
        return format_time(moment - min(ahead, moment - EARLIEST)) if moment else text

    return replace(
        status,
        start_time=move(status.start_time),
        completion_time=move(status.completion_time),
        lost_since=move(status.lost_since),
        given_back_at=move(status.given_back_at),
        waiting=replace(status.waiting, since=move(status.waiting.since)),
        conditions=tuple(
            replace(condition, last_transition_time=move(condition.last_transition_time))
            for condition in status.conditions
        ),
    )
