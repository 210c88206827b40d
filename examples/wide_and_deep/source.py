"""Where a worker's samples come from: a directory of click logs, or a generator with a seed.

Either way an epoch is cut into parts. In a step, a worker trains on one part, in many batches.
All workers take the same number of steps, because they meet at checkpoints. A worker with fewer
parts is idle in the last steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import clicks
from settings import Settings

HELD_OUT_FILE = "held_out.txt"


class Source(Protocol):
    """One worker's share of the data, for `steps` steps per epoch, and the held-out set."""

    steps: int
    held_out: clicks.Samples

    def part(self, step: int) -> tuple[Path, int] | None:
        """The file of this step's part and its number of samples; None in an idle step."""

    def ceiling_auc(self) -> float | None:
        """The best AUC that is possible on the held-out set; None if it is not known."""


def find_source(settings: Settings, rank: int, scratch: Path) -> Source:
    """The worker's source: files if `data_dir` has a HELD_OUT_FILE, else generated parts."""
    if (settings.data_dir / HELD_OUT_FILE).exists():
        return Files(settings, rank)
    return Synthetic(settings, rank, scratch)


class Synthetic:
    """Every `shards`-th part of a generated log, beginning with the worker's rank."""

    def __init__(self, settings: Settings, rank: int, scratch: Path) -> None:
        self._settings = settings
        self._scratch = scratch
        self._model = clicks.ClickModel(settings.seed)
        parts = -(-settings.samples // settings.part_size)
        self._parts = range(parts)[rank :: settings.shards]
        self.steps = -(-parts // settings.shards)
        self.held_out = self._model.part(clicks.HELD_OUT_PART, settings.held_out)

    def part(self, step: int) -> tuple[Path, int] | None:
        """Generate this step's part; its file replaces that of the step before."""
        if step >= len(self._parts):
            return None
        number = self._parts[step]
        size = min(
            self._settings.part_size, self._settings.samples - number * self._settings.part_size
        )
        path = self._scratch / "part.txt"
        clicks.write_lines(self._model.part(number, size), path)
        return path, size

    def ceiling_auc(self) -> float | None:
        """The AUC that a model with the generator's weights reaches."""
        ceiling: float | None = self._model.ceiling_auc(self.held_out)
        return ceiling


class Files:
    """The files in `<rank>/` if every shard has such a directory, else every `shards`-th file."""

    def __init__(self, settings: Settings, rank: int) -> None:
        directory = settings.data_dir
        cut = [directory / str(shard) for shard in range(settings.shards)]
        if all(shard.is_dir() for shard in cut):
            shards = [_logs(shard) for shard in cut]
        else:
            shards = [
                _logs(directory)[shard :: settings.shards] for shard in range(settings.shards)
            ]
        self._parts = shards[rank]
        self.steps = max(len(shard) for shard in shards)
        self.held_out = clicks.read_lines(directory / HELD_OUT_FILE)

    def part(self, step: int) -> tuple[Path, int] | None:
        """This step's file and its number of samples; None in an idle step."""
        if step >= len(self._parts):
            return None
        path = self._parts[step]
        with path.open("rb") as lines:
            return path, sum(1 for _ in lines)

    def ceiling_auc(self) -> float | None:
        """None: nobody knows the weights behind a real log."""
        return None


def _logs(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.txt") if path.name != HELD_OUT_FILE)
