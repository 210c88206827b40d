"""Checkpoints on a volume that all workers mount: one file each, written by rank 0.

A file gets its name when it is complete, and never changes after that. The last three are kept, so
every rank can load the file that rank 0 has chosen, even if a newer one appears meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paddle

KEPT = 3


@dataclass(frozen=True, order=True)
class Position:
    """How far training has come: `seen` counts the epoch's images over all workers.

    It counts images, not steps, so that it means the same for any number of workers.
    """

    epoch: int
    seen: int


class Checkpoints:
    """The checkpoints in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def save(self, position: Position, state: dict[str, Any]) -> None:
        """Write a checkpoint, and delete all but the last three. Only rank 0 calls this."""
        name = f"{position.epoch:04}-{position.seen:08}.pdparams"
        partial = self._directory / f".{name}"
        self._directory.mkdir(parents=True, exist_ok=True)
        paddle.save({**state, "position": (position.epoch, position.seen)}, str(partial))
        partial.replace(self._directory / name)
        for old in self._names()[:-KEPT]:
            (self._directory / old).unlink(missing_ok=True)

    def latest(self) -> str | None:
        """The name of the newest checkpoint, or None if there is none."""
        names = self._names()
        return names[-1] if names else None

    def load(self, name: str) -> tuple[Position, dict[str, Any]]:
        """The position and the state in the checkpoint of this name."""
        state = paddle.load(str(self._directory / name))
        return Position(*state.pop("position")), state

    def _names(self) -> list[str]:
        return sorted(path.name for path in self._directory.glob("[0-9]*.pdparams"))
