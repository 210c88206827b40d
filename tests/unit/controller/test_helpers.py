"""Helpers: they work side by side, and nobody waits for one that is busy."""

import threading
from collections.abc import Iterator

import pytest

from controller.work.helpers import Helpers
from tests.live import patience

HELPERS = 4


@pytest.fixture
def helpers() -> Iterator[Helpers]:
    helpers = Helpers(HELPERS, "help")
    yield helpers
    helpers.close()


def test_a_worker_does_not_wait_for_what_helpers_do_for_another(helpers):
    end, busy = threading.Event(), threading.Barrier(HELPERS + 2)
    over = []

    def hang(_: int) -> None:
        busy.wait(patience.SECONDS)
        over.append(end.wait(patience.SECONDS))

    slow = threading.Thread(target=helpers.map, args=(hang, range(HELPERS + 1)))
    slow.start()
    busy.wait(patience.SECONDS)
    assert helpers.map(str, range(5)) == ["0", "1", "2", "3", "4"]
    assert not over, "it waited until the others were through"
    end.set()
    slow.join()


def test_what_is_raised_reaches_the_worker(helpers):
    with pytest.raises(ZeroDivisionError):
        helpers.map(lambda number: 1 / number, [1, 0, 1])
