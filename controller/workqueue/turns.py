"""Waiting items, in a line for each namespace: namespaces take turns, one item a turn."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """The lines, in the order of the namespaces' turns. Its owner locks."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        """None is empty."""

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def firsts(self) -> Iterator[Item]:
        """The first item of each namespace."""
        return (line[0] for line in self._lines.values())

    def add(self, namespace: str, item: Item) -> None:
        """Put an item at the end of its namespace's line."""
        self._lines.setdefault(namespace, deque()).append(item)

    def take(self, namespace: str) -> Item:
        """Take the first item of a namespace, which goes behind the others."""
        line = self._lines.pop(namespace)
        item = line.popleft()
        if line:
            self._lines[namespace] = line
        return item

    def drop(self) -> None:
        """Drop the last item of the longest line."""
        namespace = max(self._lines, key=lambda each: len(self._lines[each]))
        self._lines[namespace].pop()
        if not self._lines[namespace]:
            del self._lines[namespace]
