"""Prints the files of the tests that failed last, as pytest has noted them.

    python -m tests.live.failed

Whole files, since the tests of some walk through one story. Exits with 1 where none has failed.
`--note` also keeps the tests for `--flakes`, which names all that were kept: they failed and then
passed alone. It exits with 1 where there are too many.
"""

import json
import sys
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".pytest_cache"
MOST_FLAKES = 2


def main(arguments: list[str], cache: Path = CACHE) -> int:
    noted, flakes = cache / "v/cache/lastfailed", cache / "flakes"
    if arguments == ["--flakes"]:
        return report(flakes.read_text().splitlines() if flakes.exists() else [])
    failed = json.loads(noted.read_text()) if noted.exists() else {}
    if arguments == ["--note"] and failed:
        with flakes.open("a") as file:
            file.writelines(f"{test}\n" for test in failed)
    sys.stdout.write(" ".join(sorted({test.partition("::")[0] for test in failed})) + "\n")
    return 0 if failed else 1


def report(flakes: list[str]) -> int:
    """Name the flakes; 1 where there are too many."""
    sys.stdout.write(f"{len(flakes)} flaky tests, {MOST_FLAKES} at most\n")
    sys.stdout.writelines(f"  failed, then passed alone: {test}\n" for test in flakes)
    return 1 if len(flakes) > MOST_FLAKES else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
