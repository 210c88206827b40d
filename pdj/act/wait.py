"""Waits until a job is in the wanted state, or gone."""

from collections.abc import Callable
from contextlib import closing

from api.objects import Raw, uid_of
from pdj.errors import Problem
from pdj.facts.picture import phase_of
from pdj.gather.jobs import Handle
from pdj.gather.live import LiveJob, pictures

TICK_SECONDS = 5.0


def wait_for(
    handle: Handle, holds: Callable[[Raw], bool], news: Callable[[Raw], object] = lambda _job: None
) -> Raw:
    """Wait until `holds` is true of the job; returns it. Each second the job goes to `news`
    first. Raises Problem if the job ends or is deleted before that.
    """
    phase = ""
    with closing(pictures(handle, at_each_tick=True, with_pods=False)) as found:
        for picture in found:
            news(picture.raw)
            if holds(picture.raw):
                return picture.raw
            phase = phase_of(picture.raw)
    raise Problem(f"the job {handle.name} has ended: {phase}")


def wait_until_gone(handle: Handle, uid: str) -> None:
    """Wait until the job with this UID is gone; another of its name may be there."""
    with LiveJob(handle, with_pods=False) as live:
        for picture in live.pictures(TICK_SECONDS):
            if picture is None or uid_of(picture.raw) != uid:
                return
