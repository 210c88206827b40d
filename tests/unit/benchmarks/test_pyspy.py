"""What py-spy tells of an operator."""

import re
from pathlib import Path

import pytest

from benchmarks.pprof import REST, shares
from benchmarks.pyspy import KINDS, read_stacks

STACKS = """\
run (threading.py:975);work (controller/work/worker.py:80);send (kube/http.py:120) 6
work (controller/work/worker.py:8);reconcile (reconcile/reconcile.py:9);a (api/x.py:1) 3
<module> (controller/__main__.py:9) 1
"""


def test_a_sample_counts_for_its_innermost_known_place() -> None:
    seen = shares(read_stacks(STACKS), KINDS)
    assert {name: share for name, share in seen.items() if share} == pytest.approx(
        {"HTTP and TLS": 0.6, "deciding what a job needs": 0.3, REST: 0.1}
    )


def test_every_place_is_one_of_the_operators() -> None:
    project = Path(__file__).parents[3]
    for _, expression in KINDS:
        places = [str(path.relative_to(project)) for path in project.glob("[ckmr]*/**/*.py")]
        outside = ["threading.py:1", "structlog/x.py"]
        assert any(re.search(expression, f"({each}:1)") for each in [*places, *outside]), expression
