"""`python -m pdj`, and the console script `kubectl-pdj`."""

import sys

from pdj.errors import INTERRUPTED


def run() -> None:
    """Run the command line, and handle Ctrl-C even while modules are being imported."""
    try:
        from pdj.main import main

        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
