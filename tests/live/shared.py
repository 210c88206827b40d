"""The clusters that many files of tests share.

A process runs only those that its present file uses: a cluster that waits for a later file takes
a twentieth of a core or more, and a start costs ten seconds of CPU.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from localcluster import Cluster

NODE = "node"
"""The cluster of the tests of the process node, by their folder's name."""
NAMES = {"cluster", "operated", "unattended"}
"""The fixtures that stand for the others."""
Used = dict[Path, set[str]]


class SharedClusters:
    """Starts a cluster when a test first asks for it, and keeps it while files use it."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Cluster, ExitStack]] = {}

    def get(self, name: str, start: Callable[[], AbstractContextManager[Cluster]]) -> Cluster:
        """The cluster of this name."""
        if name not in self._running:
            with ExitStack() as stack:
                started = stack.enter_context(start())
                self._running[name] = started, stack.pop_all()
        return self._running[name][0]

    def keep(self, names: Collection[str]) -> None:
        """Stop all others. Raises what their end raises."""
        for name in [each for each in self._running if each not in names]:
            _, stack = self._running.pop(name)
            stack.close()


def find_used(items: Iterable[pytest.Item]) -> Used:
    """The shared clusters that each file's tests use, by way of any fixture."""
    used: Used = {}
    for item in items:
        asked = NAMES & set(getattr(item, "fixturenames", ()))
        if asked and item.path.parent.name == NODE:
            asked = {NODE}
        used.setdefault(item.path, set()).update(asked)
    return used
