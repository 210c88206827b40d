"""Delays: growing, bounded, and spread."""

from api.ownership import Key
from controller.workqueue.rate_limiter import Batches, RetryLimiter, TokenBucket


def test_a_key_waits_half_a_minute_at_most_however_often_it_fails(clock):
    limiter = RetryLimiter(clock)
    delay = 0.0
    for _ in range(2000):
        delay = limiter.next_delay(Key("ns", "k"))
        clock.step(1)
    assert delay == 30.0


def test_keys_that_fail_in_their_thousands_are_tried_ten_a_second(clock):
    limiter = RetryLimiter(clock)
    delay = 0.0
    for _ in range(16):
        for number in range(1000):
            delay = limiter.next_delay(Key("ns", str(number)))
    assert delay == 100.0
    for number in range(1000, 10_000):
        limiter.next_delay(Key("ns", str(number)))
    assert limiter.next_delay(Key("ns", "0")) == 300.0


def test_keys_back_off_alone(clock):
    limiter = RetryLimiter(clock)
    for _ in range(10):
        limiter.next_delay(Key("ns", "bad"))
    assert limiter.next_delay(Key("ns", "good")) == 0.005


def test_the_keys_of_a_namespace_are_bounded_together_and_owe_a_second_at_most(clock):
    limiter = RetryLimiter(clock)
    delays = [limiter.next_delay(Key("ns", str(n))) for n in range(200)]
    assert delays[99] == 0.005
    assert delays[104] == 0.5
    assert delays[199] == 1.0
    clock.step(1)
    assert limiter.next_delay(Key("ns", "next")) <= 0.1


def test_many_failures_of_one_namespace_do_not_lengthen_the_waits_of_another(clock):
    limiter = RetryLimiter(clock)
    for number in range(5000):
        limiter.next_delay(Key("many", str(number)))
    delays = [limiter.next_delay(Key("few", "x")) for _ in range(20)]
    assert (delays[0], delays[-1]) == (0.005, 30.0)


def test_batches_are_so_large_and_so_far_apart(clock):
    batches = Batches(size=3, seconds=0.5, clock=clock)
    assert [batches.reserve() for _ in range(7)] == [0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 1.0]
    clock.step(0.75)
    assert [batches.reserve() for _ in range(3)] == [0.25, 0.25, 0.75]
    clock.step(3600)
    assert [batches.reserve() for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_a_bucket_refills_with_time_and_holds_no_more_than_its_burst(clock):
    bucket = TokenBucket(rate=2.0, burst=2, clock=clock)
    for seconds, tokens in ((0, 2), (0.5, 1), (3600, 2)):
        clock.step(seconds)
        assert [bucket.try_take() for _ in range(3)].count(True) == tokens
