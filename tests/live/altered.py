"""`python -m tests.live.altered FILE [FLAG…]`: the operator in which a few things are different.

Its wall clock shows as many seconds more as the file says at that moment, it labels pods as a later
release might, and if LONGEST_VARIABLE is set, the kernel seems to take no longer variables. With
MOST_RESTARTS, that is how many a job may have that get it nowhere.
"""

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from controller import __main__ as program
from kube.clock import Clock
from reconcile.attempt import restart
from reconcile.objects import rendezvous, templates

RELEASE = "example.com/release"


def main() -> int:
    shift_clock(Path(sys.argv.pop(1)))
    label_pods()
    shorten_variables()
    vars(restart)["MAX_FRUITLESS_RESTARTS"] = int(os.environ.get("MOST_RESTARTS", "100"))
    return program.main()


def shift_clock(file: Path) -> None:
    """Have the wall clock show other times; durations are measured by another one."""
    tell = Clock.wall

    def wall(self: Clock) -> datetime:
        return tell(self) + timedelta(seconds=float(file.read_text()))

    Clock.wall = wall  # type: ignore[method-assign]


def shorten_variables() -> None:
    """Have a list of endpoints be too long that would be long enough for thousands of pods."""
    limit = os.environ.get("LONGEST_VARIABLE")
    if limit:
        vars(rendezvous)["MAX_ENV_VALUE_BYTES"] = int(limit)


def label_pods() -> None:
    label = templates._labels
    templates._labels = lambda *arguments: {**label(*arguments), RELEASE: "later"}


if __name__ == "__main__":
    sys.exit(main())
