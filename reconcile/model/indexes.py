"""Sets of indexes as compact text, as batch/v1 writes completedIndexes: `0-2,5`."""

from collections.abc import Iterable

from api.constants import MAX_REPLICAS


def parse_indexes(text: str) -> frozenset[int]:
    """The indexes that the text lists.

    Raises ValueError if a part is no number and no range, or if the text lists more indexes than a
    job can have. Anyone who can write a status can write this text: an unbounded range would
    exhaust memory, and a range that is listed again and again would take too long.
    """
    indexes: set[int] = set()
    listed = 0
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        run = range(int(first), int(last or first) + 1)
        listed += max(0, run.stop - run.start)
        if run.stop > MAX_REPLICAS or listed > MAX_REPLICAS:
            raise ValueError(f"more pods than a job can have: {part}")
        indexes.update(run)
    return frozenset(indexes)


def format_indexes(indexes: Iterable[int]) -> str:
    """The shortest text that lists the indexes, in ascending order."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
