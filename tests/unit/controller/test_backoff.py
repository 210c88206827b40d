"""Pauses: growing, bounded, and spread."""

from kube.backoff import RESET_SECONDS, Backoff


def test_loops_that_fail_together_do_not_come_back_together(clock):
    assert len({Backoff(clock, 0.8, 15.0).next_delay() for _ in range(20)}) == 20


def test_two_quiet_minutes_start_the_pauses_over(clock):
    backoff = Backoff(clock, 0.8, 15.0)
    for _ in range(8):
        backoff.next_delay()
    clock.step(RESET_SECONDS)
    assert backoff.next_delay() >= 15.0
    clock.step(RESET_SECONDS + 1)
    assert backoff.next_delay() <= 1.6
