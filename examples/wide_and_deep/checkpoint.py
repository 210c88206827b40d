"""Checkpoints of a parameter-server job on a volume that servers and workers share.

The first worker starts a checkpoint when all workers have reached the same step. The servers then
write their shards of every table, and the directory gets its final name when it has all shards. So
a checkpoint is complete or absent, whichever process is killed. The last two are kept.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = 2
_STATE = "state.json"


@dataclass(frozen=True, order=True)
class Position:
    """How far training has come: the epoch, its steps, and the number of shards of the data."""

    epoch: int
    step: int
    shards: int

    def for_shards(self, shards: int) -> Position:
        """The position for data that is divided into this many shards.

        If the number has changed, a step means other data, so the epoch starts again.
        """
        return self if shards == self.shards else Position(self.epoch, 0, shards)


class Checkpoints:
    """The checkpoints in one directory. The first worker writes them, and all workers read them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def save(self, position: Position, write: Callable[[Path], None]) -> None:
        """Write a checkpoint, and delete all but the last two. `write` must fill a directory."""
        final = self._directory / f"{position.epoch:04}-{position.step:06}"
        partial = final.with_suffix(".partial")
        for leftover in (partial, final):
            shutil.rmtree(leftover, ignore_errors=True)
        partial.mkdir(parents=True)
        write(partial)
        (partial / _STATE).write_text(json.dumps(asdict(position)))
        partial.rename(final)
        self._prune()

    def latest(self) -> tuple[Position, Path] | None:
        """Position and directory of the newest checkpoint, or None if there is none."""
        found = self._whole()
        if not found:
            return None
        state = json.loads((found[-1] / _STATE).read_text())
        return Position(**state), found[-1]

    def _whole(self) -> list[Path]:
        return sorted(
            entry for entry in self._directory.glob("*-*") if not entry.name.endswith(".partial")
        )

    def _prune(self) -> None:
        for old in self._whole()[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
