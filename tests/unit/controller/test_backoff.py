"""Pauses: growing, bounded, and spread."""

from controller.backoff import RESET_SECONDS, Backoff


def test_a_loops_pauses_grow_to_thirty_seconds_and_stretch_at_most_twofold(clock):
    backoff = Backoff(clock)
    for least in (0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0):
        assert least <= backoff.next_delay() <= 2 * least


def test_loops_that_fail_together_do_not_come_back_together(clock):
    assert len({Backoff(clock).next_delay() for _ in range(20)}) == 20


def test_a_loop_may_have_figures_of_its_own(clock):
    backoff = Backoff(clock, first_seconds=1.0, most_seconds=2.0)
    for least in (1.0, 2.0, 2.0):
        assert least <= backoff.next_delay() <= 2 * least


def test_two_quiet_minutes_start_the_pauses_over(clock):
    backoff = Backoff(clock)
    for _ in range(8):
        backoff.next_delay()
    clock.step(RESET_SECONDS)
    assert backoff.next_delay() >= 15.0
    clock.step(RESET_SECONDS + 1)
    assert backoff.next_delay() <= 1.6
