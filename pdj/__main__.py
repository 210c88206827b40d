"""`python -m pdj`, and the console script `kubectl-pdj`."""

import sys

from pdj.errors import INTERRUPTED


def run() -> None:
    """Run the command of this process. Ctrl-C may come before its modules are imported."""
    try:
        from pdj.main import main

        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
