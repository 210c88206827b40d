"""What can be set from outside, by environment variables of plain names.

Where the peers are is not among them: that comes from the operator's environment alone, which
Fleet reads by itself.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """`samples` are those of one epoch over all workers; times are in parts of the log."""

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
    output_dir: Path

    @property
    def parts(self) -> int:
        return -(-self.samples // self.part_size)

    def part_samples(self, part: int) -> int:
        """The last part may be smaller."""
        return min(self.part_size, self.samples - part * self.part_size)


def from_environment(workers: int) -> Settings:
    """SHARDS other than the number of workers trains on some of the data only."""
    checkpoint_dir = os.environ.get("CHECKPOINT_DIR")
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
        checkpoint_dir=Path(checkpoint_dir) if checkpoint_dir else None,
        output_dir=_output_dir(),
    )


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def _output_dir() -> Path:
    """Without a volume the model goes to a directory of this run's own."""
    return Path(os.environ.get("OUTPUT_DIR") or Path(tempfile.gettempdir()) / "wide_and_deep")
