"""Delays: growing, bounded, and spread."""

import pytest

from controller.rate_limiter import Backoff, RetryLimiter, TokenBucket


def test_a_key_waits_five_minutes_at_most_however_often_it_fails(clock):
    limiter = RetryLimiter(clock)
    delay = 0.0
    for _ in range(2000):
        delay = limiter.next_delay("k")
        clock.step(1)
    assert delay == 300.0


def test_keys_back_off_alone(clock):
    limiter = RetryLimiter(clock)
    for _ in range(10):
        limiter.next_delay("bad")
    assert limiter.next_delay("good") == 0.005


def test_all_keys_together_are_bounded(clock):
    limiter = RetryLimiter(clock)
    delays = [limiter.next_delay(n) for n in range(200)]
    assert delays[99] == 0.005
    assert delays[199] == pytest.approx(10.0)


def test_a_bucket_refills_with_time(clock):
    bucket = TokenBucket(rate=2.0, burst=1, clock=clock)
    assert bucket.try_take()
    assert not bucket.try_take()
    clock.step(0.5)
    assert bucket.try_take()


def test_a_bucket_holds_no_more_than_its_burst(clock):
    bucket = TokenBucket(rate=100.0, burst=2, clock=clock)
    clock.step(3600)
    assert [bucket.try_take() for _ in range(3)] == [True, True, False]


def test_a_loops_pauses_grow_to_thirty_seconds_and_stretch_at_most_twofold(clock):
    backoff = Backoff(clock)
    for least in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0):
        assert least <= backoff.next_delay() <= 2 * least


def test_two_quiet_minutes_start_the_pauses_over(clock):
    backoff = Backoff(clock)
    for _ in range(8):
        backoff.next_delay()
    clock.step(121)
    assert backoff.next_delay() <= 1.6
