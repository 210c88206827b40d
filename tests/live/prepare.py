"""Makes what the tests need and keeps for the user, with progress: before any test's clock runs.

python -m tests.live.prepare
"""

import signal
import sys

from benchmarks import simulator
from localcluster.machine.disk import explain
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.report import tell
from localcluster.machine.together import together
from localcluster.provision.binaries import ensure_binaries
from localcluster.provision.environments import ensure_environment
from localcluster.provision.gobuild import ensure_built
from localcluster.provision.ownpackages import ensure_apart
from tests.live import browser, environments, gochecks, ownprogram


def main() -> str | None:
    """Make what is missing; what went wrong."""
    try:
        together(ensure_binaries, lambda: ensure_environment("examples"))
        ensure_apart(tell)
        ownprogram.install_packages()
        ensure_built(simulator.PINS)
        for name in gochecks.PROGRAMS:
            gochecks.build(name)
        for missing in (environments.install(tell), browser.install()):
            sys.stderr.write(f"{missing}\n" if missing else "")
    except (LocalClusterError, OSError) as error:
        return f"error: {explain(error)}"
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once more does not help
        return "stopped; make prepare goes on from here"
    return None


if __name__ == "__main__":
    sys.exit(main())
