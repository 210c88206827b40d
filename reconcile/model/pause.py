"""How long a job's creates pause after the API server has refused one of its children."""

FIRST_PAUSE_SECONDS = 10.0
USUAL_PAUSE_SECONDS = 30.0
MAX_PAUSE_SECONDS = 300.0
"""Creates pause for 10 s, then 20 s, then 30 s each time; longer if many jobs pause."""
PAUSE_SECONDS_PER_JOB = 0.1
"""All paused jobs of a namespace together try at most ten creates a second."""
UNTRIED_PAUSE_SECONDS = 2.0
"""The pause of a job that reports another job's refusal as its own, before its first own try."""


def pause_after(times: int, jobs: int) -> float:
    """The pause after this many refusals in a row, with this many paused jobs in the namespace."""
    if not times:
        return UNTRIED_PAUSE_SECONDS
    longest = min(MAX_PAUSE_SECONDS, max(USUAL_PAUSE_SECONDS, jobs * PAUSE_SECONDS_PER_JOB))
    return min(longest, FIRST_PAUSE_SECONDS * 2.0 ** min(times - 1, 30))
