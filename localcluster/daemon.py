"""Holds one cluster in the background: `python -m localcluster.daemon FOLDER CONFIG`.

Told over standard output: progress, then one line when the cluster is ready, or why it is not.
After that it writes to a log. It starts again what dies, and ends at SIGTERM, also while it starts.
"""

import dataclasses
import os
import signal
import sys
import threading
from pathlib import Path

from localcluster import clock
from localcluster.background import READY, config_from_json
from localcluster.cluster import Cluster
from localcluster.errors import LocalClusterError, StartError

CHECK_SECONDS = 1.0
RESTART_SECONDS = 10.0


def main(folder: Path, config_json: str) -> int:
    """Run the cluster until a signal ends it."""
    ended, started = threading.Event(), threading.Event()

    def end(number: int, _frame: object) -> None:
        ended.set()
        if not started.is_set():  # nobody looks at the event yet
            raise StartError(f"stopped by {signal.Signals(number).name}")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    config = dataclasses.replace(config_from_json(config_json), state_dir=folder)
    try:
        with Cluster(config) as cluster:
            started.set()
            _detach(cluster.log("daemon"))
            _supervise(cluster, ended)
    except (LocalClusterError, OSError) as error:
        print(error, flush=True)
        return 1
    return 0


def _detach(log: Path) -> None:
    print(READY, flush=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (sys.stdout, sys.stderr):
        os.dup2(descriptor, standard.fileno())
    os.close(descriptor)


def _supervise(cluster: Cluster, ended: threading.Event) -> None:
    restarted: dict[str, float] = {}
    while not ended.wait(CHECK_SECONDS):
        for name in cluster.dead():
            if clock.monotonic() - restarted.get(name, -RESTART_SECONDS) >= RESTART_SECONDS:
                restarted[name] = clock.monotonic()
                print(f"{clock.utc_now():%FT%TZ} {name} died: starting it again", flush=True)
                cluster.start_component(name, wait=False)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
