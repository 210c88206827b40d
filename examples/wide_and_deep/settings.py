"""The settings that environment variables can change.

The peers' addresses are not among them: the operator sets them in variables that Fleet itself
reads.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The settings. Each comes from the environment variable of the same name in capitals.

    Click logs are read from `data_dir`. If it has none, `samples` samples are generated from
    `seed`, in parts of `part_size`, and `held_out` more to measure the AUC on. Each worker trains
    on one of `shards` shares of the data; 0 means the number of workers.

    `checkpoint_dir` and `output_dir` have to be on a volume that servers and workers share. A
    checkpoint is written after every `checkpoint_every` parts and after each epoch; there is none
    without a `checkpoint_dir`. Without an `output_dir` the model goes to a new temporary directory.
    With `save_passes` the model of each epoch is saved, else only that of the last.
    """

    data_dir: Path
    samples: int
    part_size: int
    held_out: int
    seed: int
    shards: int
    epochs: int
    batch_size: int
    learning_rate: float
    checkpoint_every: int
    checkpoint_dir: Path | None
    output_dir: Path | None
    save_passes: bool


def from_environment() -> Settings:
    """The settings, with defaults for a machine without GPUs.

    Raises ValueError on a variable that should be a number and is not.
    """
    return Settings(
        data_dir=_directory("DATA_DIR") or Path(__file__).with_name("data"),
        samples=_number("SAMPLES", 60_000),
        part_size=_number("PART_SIZE", 2_000),
        held_out=_number("HELD_OUT", 8_000),
        seed=_number("SEED", 7),
        shards=_number("SHARDS", 0),
        epochs=_number("EPOCHS", 3),
        batch_size=_number("BATCH_SIZE", 64),
        learning_rate=float(os.environ.get("LEARNING_RATE", "0.0015")),
        checkpoint_every=_number("CHECKPOINT_EVERY", 2),
        checkpoint_dir=_directory("CHECKPOINT_DIR"),
        output_dir=_directory("OUTPUT_DIR"),
        save_passes=_number("SAVE_PASSES", 0) != 0,
    )


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def _directory(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value).absolute() if value else None
