"""`python -m controller`: the operator as a process."""

import gc
import signal
import sys
from types import FrameType

from controller.client import ConfigurationError, load_connection
from controller.clock import SystemClock
from controller.logs import build_log, forward_library_warnings
from controller.manager import Foundation, Manager
from controller.options import parse_options
from metrics import Metrics
from reconcile import reconcile


def main() -> int:
    """Run until SIGTERM or SIGINT; the exit code."""
    options = parse_options(sys.argv[1:])
    log = build_log(options.log_format, options.log_level)
    forward_library_warnings(log)
    clock = SystemClock()
    try:
        connection = load_connection(options.kubeconfig or None, clock)
    except ConfigurationError as error:
        log.error("no_connection", error=str(error))
        return 1
    manager = Manager(Foundation(options, connection, clock, log, Metrics()), reconcile)

    def stop(number: int, _frame: FrameType | None) -> None:
        log.info("stopping", signal=signal.Signals(number).name)
        manager.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    # What the imports made lives as long as the process; the collector need not look at it.
    gc.freeze()
    return manager.run()


if __name__ == "__main__":
    sys.exit(main())
