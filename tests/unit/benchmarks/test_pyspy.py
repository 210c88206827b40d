"""What py-spy tells of an operator."""

import re
from pathlib import Path

from benchmarks.pyspy import KINDS


def test_every_place_is_one_of_the_operators() -> None:
    project = Path(__file__).parents[3]
    for _, expression in KINDS:
        places = [str(path.relative_to(project)) for path in project.glob("[ckmr]*/**/*.py")]
        outside = ["threading.py:1", "structlog/x.py"]
        assert any(re.search(expression, f"({each}:1)") for each in [*places, *outside]), expression
