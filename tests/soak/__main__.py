"""`python -m tests.soak --minutes 30 [--seed 7]`: exits with 1 when something was wrong."""

import argparse
import contextlib
import random
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.live import network
from tests.soak.faults import Scene
from tests.soak.ledger import Ledger
from tests.soak.place import OPERATORS, Place
from tests.soak.record import Record, count_lines
from tests.soak.run import Soak, Watching
from tests.soak.trainings import Trainings

LARGEST_SEED = 10**6
EXIT_VIOLATED, EXIT_INTERRUPTED = 1, 130


def main(words: Sequence[str]) -> int:
    """Run, and tell what came of it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None, help="by default a new one")
    parser.add_argument("--folder", type=Path, default=None, help="keep the logs there")
    arguments = parser.parse_args(words)
    seed = random.randrange(LARGEST_SEED) if arguments.seed is None else arguments.seed
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(PermissionError):
        network.leave()
    record = Record(seed, folder / "events.log")
    record.tell(f"seed {seed}")
    try:
        soak(record, folder, arguments.minutes * 60)
    except KeyboardInterrupt:
        record.tell("interrupted")
        return EXIT_INTERRUPTED
    return conclude(record, folder, is_kept=arguments.folder is not None)


def soak(record: Record, folder: Path, seconds: float) -> None:
    """All of it; nothing is left running."""
    with (
        contextlib.closing(socket.create_server(("127.0.0.1", 0), backlog=1000)) as deaf,
        Place(folder) as place,
    ):
        watching = Watching(place)
        scene = Scene(place, Ledger(), folder, deaf, watching.restart)
        run = Soak(place, scene, record, watching)
        try:
            run.run(seconds)
        finally:
            watching.stop()
        summarize(run)


def summarize(run: Soak) -> None:
    record, place = run.record, run.place
    run.writes.take()
    memory = ", ".join(f"{place.seats[name].most_memory_kb // 1024} MiB" for name in OPERATORS)
    recoveries = sorted(record.recoveries) or [0.0]
    lines = [
        f"seed {record.seed}: {record.rounds} rounds in {record.seconds / 60:.1f} min",
        *count_lines("faults", record.faults),
        *count_lines("faults that met nothing", record.missed),
        *count_lines("jobs", run.ledger.submitted),
        f"restarts of jobs: {run.ledger.restarts}",
        *count_lines("starts", place.starts),
        *count_lines("writes of the operators", run.writes.totals),
        *count_hangs(run.trainings),
        f"versions witnessed: {run.watching.versions + run.watching.witness.versions}",
        f"checks: {record.checks}",
        f"calm after: {median(recoveries):.0f} s (median), {recoveries[-1]:.0f} s (most)",
        f"most memory of an operator: {memory}",
        f"violations: {len(record.violations)}",
    ]
    for line in lines:
        record.note(line)
        print(line)


def count_hangs(trainings: Trainings) -> list[str]:
    """How long hangs lasted until their restart, with one leader and with several."""
    lines = []
    for title, is_wanted in (("one leader", lambda n: not n), ("a change of the leader", bool)):
        found = sorted(seconds for seconds, changes in trainings.seconds if is_wanted(changes))
        told = f": {median(found):.0f} s (median), {found[-1]:.0f} s (most)" if found else ""
        lines.append(f"hangs restarted with {title}: {len(found)}{told}")
    lines.append(f"hangs that something else ended: {trainings.disturbed}")
    return [*lines, f"logs rotated: {trainings.rotated}"]


def conclude(record: Record, folder: Path, is_kept: bool) -> int:
    """The exit code; where something was wrong, the record and the logs stay."""
    if record.violations:
        print(f"again: make soak SEED={record.seed}; what happened: {folder}", flush=True)
        return EXIT_VIOLATED
    if not is_kept:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
