"""What the figures of --progress are made of."""

from benchmarks.scenarios.progress import Progress, Rest, Turn


def turn(rate: float, resident_mb: float, *rests: Rest) -> Turn:
    return Turn(rests, rate, 5.0, resident_mb, resident_mb)


QUIET = Rest(10.0, 0.05, 0, 0)
READING = Rest(10.0, 0.15, 50, 0)


def test_a_read_costs_what_an_operator_without_reads_would_not_have_used():
    assert round(READING.read_ms(cpu_share=0.005), 6) == 2.0


def test_rates_are_compared_pair_by_pair():
    """A machine that slows down slows down both of a pair."""
    pairs = tuple((turn(0.98 * rate, 90, READING), turn(rate, 80, QUIET)) for rate in (40, 20, 30))
    told = "\n".join(Progress(1000, 200, turn(40, 95, READING, READING), pairs).lines())
    assert "start rate: 0.980 0.980 0.980 times that without; median 0.980" in told
    assert "memory, all logs read: +15.0 MB of 80.0 MB" in told
    assert "without: 0 reads, 0 status writes" in told
