"""What can be set from outside, by environment variables of plain names.

Where the peers are is not among them: that comes from the operator's environment alone, which
Fleet reads by itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """`samples` are those of one epoch over all workers; `checkpoint_every` counts parts.

    Both directories are of a volume that servers and workers share. Without an `output_dir` the
    model goes to a new temporary directory; without a `checkpoint_dir` there are no checkpoints.
    """

    samples: int
    part_size: int
    held_out: int
    epochs: int
    batch_size: int
    learning_rate: float
    seed: int
    shards: int
    checkpoint_every: int
    checkpoint_dir: Path | None
    output_dir: Path | None

    @property
    def parts(self) -> int:
        return -(-self.samples // self.part_size)

    def part_samples(self, part: int) -> int:
        """The last part may be smaller."""
        return min(self.part_size, self.samples - part * self.part_size)


def from_environment(workers: int) -> Settings:
    """SHARDS other than the number of workers trains on some of the data only."""
    return Settings(
        samples=_number("SAMPLES", 60_000),
        part_size=_number("PART_SIZE", 2_000),
        held_out=_number("HELD_OUT", 8_000),
        epochs=_number("EPOCHS", 3),
        batch_size=_number("BATCH_SIZE", 64),
        learning_rate=float(os.environ.get("LEARNING_RATE", "0.0015")),
        seed=_number("SEED", 7),
        shards=_number("SHARDS", workers),
        checkpoint_every=_number("CHECKPOINT_EVERY", 2),
        checkpoint_dir=_directory("CHECKPOINT_DIR"),
        output_dir=_directory("OUTPUT_DIR"),
    )


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def _directory(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None
