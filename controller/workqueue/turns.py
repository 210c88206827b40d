"""Waiting items, in one queue per namespace: namespaces take turns, one item each."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """The queues, ordered by which namespace is next. Not thread-safe: the caller locks."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        """The queue of each namespace; none is empty."""

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def firsts(self) -> Iterator[Item]:
        """The first item of each namespace."""
        return (line[0] for line in self._lines.values())

    def add(self, namespace: str, item: Item) -> None:
        """Put an item at the end of its namespace's queue."""
        self._lines.setdefault(namespace, deque()).append(item)

    def take(self, namespace: str) -> Item:
        """Take the first item of a namespace, and move the namespace behind the others."""
        line = self._lines.pop(namespace)
        item = line.popleft()
        if line:
            self._lines[namespace] = line
        return item

    def drop(self) -> None:
        """Drop the last item of the longest queue."""
        namespace = max(self._lines, key=lambda each: len(self._lines[each]))
        self._lines[namespace].pop()
        if not self._lines[namespace]:
            del self._lines[namespace]
