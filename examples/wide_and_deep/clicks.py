"""Click logs: who saw which advertisement where, and whether they clicked.

A synthetic log is drawn from a logistic model whose weights are known, so the best AUC that any
model can reach on its held-out set is known too. Everything is made from one seed, so part `p` of
the log is the same on every worker that makes it. Logs have the format that Paddle's data feed
parses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Size of each categorical field: user, advertisement, site, hour, device, campaign.
FIELDS = (2000, 1000, 200, 24, 8, 60)
DENSE = 4
#: The interaction of user and advertisement lives in this many hidden dimensions.
HIDDEN = 3
HELD_OUT_PART = 2**31


@dataclass(frozen=True)
class Samples:
    """Columns of equal length: ids (n, fields), dense (n, DENSE), clicks (n,).

    Each field has its own range of ids, so that one table can have them all; 0 stays unused.
    """

    ids: np.ndarray
    dense: np.ndarray
    clicks: np.ndarray

    def __len__(self) -> int:
        return len(self.clicks)


class ClickModel:
    """The weights behind a synthetic log; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        draw = np.random.default_rng([seed, HELD_OUT_PART + 1])
        self._wide = [draw.normal(0.0, 0.7, size) for size in FIELDS]
        self._dense = draw.normal(0.0, 0.5, DENSE)
        self._users = draw.normal(0.0, 0.6, (FIELDS[0], HIDDEN))
        self._ads = draw.normal(0.0, 0.6, (FIELDS[1], HIDDEN))

    def part(self, number: int, size: int) -> Samples:
        """Part `number` of the log; the held-out set is `HELD_OUT_PART`."""
        draw = np.random.default_rng([self._seed, number])
        ids = np.stack([_popular(draw, field, size) for field in FIELDS], axis=1)
        dense = draw.normal(0.0, 1.0, (size, DENSE)).astype("float32")
        clicked = draw.random(size) < self._click_rate(ids, dense)
        return Samples(ids + _field_starts(), dense, clicked.astype("int64"))

    def ceiling_auc(self, samples: Samples) -> float:
        """The AUC that a model with the true weights reaches on these samples."""
        return auc(samples.clicks, self._click_rate(samples.ids - _field_starts(), samples.dense))

    def _click_rate(self, ids: np.ndarray, dense: np.ndarray) -> np.ndarray:
        wide = sum(weights[ids[:, n]] for n, weights in enumerate(self._wide))
        taste = np.sum(self._users[ids[:, 0]] * self._ads[ids[:, 1]], axis=1)
        return 1.0 / (1.0 + np.exp(1.0 - wide - taste - dense @ self._dense))


def _popular(draw: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Random ids; low ones are more frequent, as in any click log."""
    return (size * draw.random(count) ** 1.5).astype("int64")


def _field_starts() -> np.ndarray:
    return np.concatenate([[0], np.cumsum(FIELDS)[:-1]]) + 1


def auc(clicked: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve: the share of (click, no click) pairs whose click scores higher."""
    order = np.argsort(score, kind="stable")
    ranks = np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    positives = int(np.sum(clicked))
    negatives = len(clicked) - positives
    below = np.sum(ranks[clicked == 1]) - positives * (positives + 1) / 2
    return float(below / (positives * negatives))


def write_lines(samples: Samples, path: Path) -> None:
    """Write one line per sample: for each slot the number of its values, then the values."""
    with path.open("w") as lines:
        for row in range(len(samples)):
            slots = " ".join(f"1 {number}" for number in samples.ids[row])
            dense = " ".join(f"{value:.4f}" for value in samples.dense[row])
            lines.write(f"{slots} {DENSE} {dense} 1 {samples.clicks[row]}\n")


def read_lines(path: Path) -> Samples:
    """The samples that `write_lines` wrote. Raises ValueError on lines of another form."""
    table = np.loadtxt(path, ndmin=2)
    fields = 2 * len(FIELDS)
    ids = table[:, 1:fields:2].astype("int64")
    dense = table[:, fields + 1 : fields + 1 + DENSE].astype("float32")
    return Samples(ids, dense, table[:, -1].astype("int64"))
