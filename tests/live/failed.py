"""Prints the files of the tests that failed last, as pytest has noted them.

    python -m tests.live.failed

Whole files, since the tests of some walk through one story. Exits with 1 where none has failed.
"""

import json
import sys
from pathlib import Path

NOTED = Path(__file__).parents[2] / ".pytest_cache/v/cache/lastfailed"


def main() -> int:
    """The exit code."""
    failed = json.loads(NOTED.read_text()) if NOTED.exists() else {}
    sys.stdout.write(" ".join(sorted({test.partition("::")[0] for test in failed})) + "\n")
    return 0 if failed else 1


if __name__ == "__main__":
    sys.exit(main())
