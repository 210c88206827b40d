"""Labelled images: those of a data set if there is one, else synthetic ones made from a seed.

The synthetic images are noisy copies of one pattern per class, so that a small network learns
them in a minute: a loss that does not fall means that something is wrong with the training.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CLASSES = 10
CHANNELS = 3
SIDE = 16


@dataclass(frozen=True)
class Images:
    """`pixels` (n, channels, height, width) float32, `labels` (n,) int64."""

    pixels: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: np.ndarray) -> Images:
        """The images with these indexes, in this order."""
        return Images(self.pixels[rows], self.labels[rows])

    @property
    def classes(self) -> int:
        """The number of classes: labels count from 0."""
        return int(self.labels.max()) + 1


def load(directory: Path | None, count: int, seed: int) -> Images:
    """`images.npy` and `labels.npy` of the directory; without them `count` synthetic images."""
    if directory and (directory / "images.npy").exists():
        pixels = np.load(directory / "images.npy").astype("float32")
        return Images(pixels, np.load(directory / "labels.npy").astype("int64"))
    return synthetic(count, seed)


def synthetic(count: int, seed: int) -> Images:
    """`count` images of CHANNELS x SIDE x SIDE, the same for the same seed."""
    draw = np.random.default_rng(seed)
    patterns = draw.normal(0.0, 1.0, (CLASSES, CHANNELS, SIDE, SIDE))
    labels = np.arange(count) % CLASSES
    noise = draw.normal(0.0, 3.0, (count, CHANNELS, SIDE, SIDE))
    return Images((patterns[labels] + noise).astype("float32"), labels.astype("int64"))


def order(count: int, epoch: int, seed: int) -> np.ndarray:
    """The indexes of all images in the epoch's order, which is the same on every worker."""
    return np.random.default_rng([seed, epoch]).permutation(count)


class Checksum:
    """A digest of the indexes of the images that a worker has trained on, in order of training."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = hashlib.sha256()

    def add(self, rows: np.ndarray) -> None:
        """Add the images with these indexes."""
        self.rows += len(rows)
        self._digest.update(rows.astype("int64").tobytes())

    def __str__(self) -> str:
        return self._digest.hexdigest()[:16]
