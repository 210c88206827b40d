"""Costs in pairs: what is measured, and what it is compared with, in turns and in one process.

A machine that is slow slows both, so that their ratio holds anywhere. The cheapest of several runs
counts, since whatever happens beside a run can only make it dearer.
"""

import time
from collections.abc import Callable

LEAST_ROUNDS, ROUNDS = 3, 20
Make = Callable[[int], Callable[[], object]]


def assert_cheaper(
    do: Callable[[], object], floor: Callable[[], object], times: float = 1.0
) -> None:
    """A run takes at most so many times the CPU of the floor's."""
    assert_less(lambda: cpu_seconds(do), lambda: cpu_seconds(floor), times)


def assert_less(
    measure: Callable[[], float], floor: Callable[[], float], times: float = 1.0
) -> None:
    """What is measured is at most so many times what is measured beside it."""
    costs, floors = list[float](), list[float]()
    for _ in range(ROUNDS):
        floors.append(floor())
        costs.append(measure())
        if len(costs) >= LEAST_ROUNDS and min(costs) <= times * min(floors):
            return
    raise AssertionError(f"{min(costs)}, more than {times} times {min(floors)}: {costs}, {floors}")


def assert_grows_with_its_length(make: Make, size: int) -> None:
    """What is four times as long takes four times as much, not sixteen times: `make(size)` returns
    what is measured.
    """
    short, long = make(size // 4), make(size)
    assert_cheaper(long, short, times=8)


def cpu_seconds(do: Callable[[], object]) -> float:
    started = time.process_time()
    do()
    return time.process_time() - started
