"""`python -m controller`: the operator as a process."""

import faulthandler
import gc
import os
import signal
import sys
import threading

from api.constants import RELEASE
from controller.client.connection import ConfigurationError, load_connection
from controller.logs import Log, build_log, forward_library_warnings
from controller.manager import Foundation, Manager
from controller.options import parse_options, revision
from kube.clock import Clock
from metrics import Metrics
from reconcile.reconcile import reconcile


def main() -> int:
    """Run until SIGTERM or SIGINT; returns the exit code."""
    options = parse_options(sys.argv[1:])
    log = build_log(options.log_format, options.log_level)
    forward_library_warnings(log)
    clock, metrics = Clock(), Metrics()
    metrics.describe_build(RELEASE, revision())
    try:
        connection = load_connection(options.kubeconfig or None, clock)
        manager = Manager(Foundation(options, connection, clock, log, metrics), reconcile)
    except (ConfigurationError, OSError) as error:
        log.error("cannot_start", error=str(error))
        return 1
    _answer_signals(manager, log)
    # Imported objects live as long as the process: the garbage collector can skip them.
    gc.freeze()
    return manager.run()


def _answer_signals(manager: Manager, log: Log) -> None:
    """Stop on SIGTERM and SIGINT; on SIGUSR1 print the stacks of all threads.

    The signals are blocked in every thread except one, which waits for them. A handler would
    interrupt the main thread, perhaps while it holds locks. And faulthandler's own handler reads
    the stacks of threads that keep running, which has crashed the process. Waiting also works for
    process 1, to which the kernel delivers no signal without a handler.
    """
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    def wait() -> None:
        while (number := signal.sigwait(signals)) == signal.SIGUSR1:
            faulthandler.dump_traceback()
        log.info("stopping", signal=signal.Signals(number).name)
        manager.stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # sys.exit would wait for a helper whose write hangs
