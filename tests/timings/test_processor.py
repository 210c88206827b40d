"""What takes processor time, beside what it is compared with."""

import pytest

from api.constants import MAX_REPLICAS
from kube.parsing import MAX_JSON_DEPTH, cut_deep
from reconcile.model.pause import FIRST_PAUSE_SECONDS
from reconcile.reconcile import reconcile
from tests.memory.builders import a_job
from tests.memory.world import World
from tests.timings.pairs import assert_cheaper

SIZE = 1_000_000
TEXT = b"[" + b'"text",' * (SIZE // 7)
PIECES = [b'\\"', b'"', b"[", b"{}", b"\\", b"[],", b'{"":{}},', b"[" * 190 + b"]" * 190 + b","]


@pytest.mark.parametrize("piece", PIECES)
def test_brackets_and_quotes_cost_little_more_than_text(piece):
    """Else somebody who patches such an object again and again would hold up everybody's watch."""
    data = b"[" + piece * (SIZE // len(piece))
    assert_cheaper(lambda: cut_deep(data), lambda: cut_deep(TEXT), times=5)


def test_long_texts_cost_less_than_a_look_at_each_byte():
    """They cost the API server next to nothing: patches of such an object come quickly."""
    data = b'["' + b"x" * 2_000_000 + b'"]'
    assert_cheaper(lambda: cut_deep(data), lambda: bytes(map(MAX_JSON_DEPTH.__lt__, data)))


@pytest.mark.parametrize(
    "spec", [{}, {"intranet": "Service"}, {"elastic": 1}], ids=["PodIP", "Service", "elastic"]
)
def test_a_pass_over_ten_thousand_refused_pods_costs_less_than_a_tenth_of_their_manifests(spec):
    world = World()
    job = a_job().with_workers(MAX_REPLICAS).build()
    job["spec"] |= spec
    world.submit(job)
    world.refused_kinds = {"Pod", "Service"}
    world.work()
    world.advance(FIRST_PAUSE_SECONDS)
    observed = world.observe()
    creates = [
        each for group in reconcile(observed, world.now, world.settings).creates for each in group
    ]
    enough = -(-MAX_REPLICAS // 10 // len(creates))

    def build() -> None:
        for _ in range(enough):
            for create in creates:
                create.build()

    assert_cheaper(lambda: reconcile(observed, world.now, world.settings), build, times=5)
