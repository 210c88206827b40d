"""`--wait`: waits until a job is in the requested state."""

import argparse
from collections.abc import Callable

from api.constants import Condition, Phase
from api.objects import Raw, uid_of
from pdj.commands.options import seconds
from pdj.errors import Problem
from pdj.gather.live import Deadline, LiveJob, gone, result_of
from pdj.judge.story import first_line
from pdj.session import Session
from pdj.text.terminal import plain

TICK_SECONDS = 5.0


def add_wait(parser: argparse.ArgumentParser, until: str) -> None:
    """The options `--wait` and `--timeout`."""
    parser.add_argument("--wait", action="store_true", help=f"wait until {until}")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long to wait")


def wait_for(
    session: Session, name: str, holds: Callable[[Raw], bool], result: Callable[[Raw], int | None]
) -> int:
    """Wait until `holds` is true, printing every phase; returns what `result` returns, or 0.

    Waits also for a job that does not exist yet. Raises Problem if it ends or is deleted first.
    """
    deadline = Deadline(session.options.timeout, name, session.clock)
    phase = ""
    known = False
    with LiveJob(session.client, session.namespace, name, session.clock, with_pods=False) as live:
        while True:
            picture = live.picture()
            if picture is None and live.is_known and known:
                raise gone(name)
            if picture is not None:
                known = True
                phase = tell_phase(session, picture.raw, phase)
                if holds(picture.raw):
                    return result(picture.raw) or 0
                if result_of(picture.raw) is not None:
                    raise Problem(f"the job {name} has ended: {phase}")
            deadline.wait(live.changed, TICK_SECONDS)


def wait_for_end(session: Session, name: str) -> int:
    """Wait until the job has ended; returns the exit code for its result."""
    return wait_for(session, name, lambda raw: result_of(raw) is not None, result_of)


def wait_until_gone(session: Session, name: str, uid: str, namespace: str = "") -> None:
    """Wait until the job with this UID is gone, by default in the session's namespace."""
    deadline = Deadline(session.options.timeout, name, session.clock)
    where = namespace or session.namespace
    with LiveJob(session.client, where, name, session.clock, with_pods=False) as live:
        while True:
            is_known, picture = live.is_known, live.picture()  # known before it is read
            if is_known and (picture is None or uid_of(picture.raw) != uid):
                return
            deadline.wait(live.changed, TICK_SECONDS)


def tell_phase(session: Session, raw: Raw, before: str) -> str:
    """Return the job's phase, and print it if it has changed."""
    phase = str((raw.get("status") or {}).get("phase") or "")
    if phase and phase != before:
        session.notes.write(plain(f"{raw['metadata']['name']}: {phase}{_why(raw, phase)}"))
    return phase


def _why(raw: Raw, phase: str) -> str:
    """For a failed job, the reason and the first line of its message; otherwise empty."""
    for each in raw["status"].get("conditions") or ():
        if phase == Phase.FAILED and (each["type"], each["status"]) == (Condition.FAILED, "True"):
            return f": {each.get('reason')}: {first_line(str(each.get('message') or ''))}"
    return ""
