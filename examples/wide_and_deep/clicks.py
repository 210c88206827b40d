"""Synthetic click log: who saw which advertisement where, and whether they clicked.

The clicks are drawn from a logistic model whose weights are known, so the best AUC that any
model can reach on the held-out set is known too (`ceiling_auc`). Everything follows from one
seed: part `p` of the log is the same on whichever worker it is made, and no worker makes
another's.
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
    """Columns of equal length: ids (n, fields), dense (n, DENSE), clicks (n,), truth (n,)."""

    ids: np.ndarray
    dense: np.ndarray
    clicks: np.ndarray
    truth: np.ndarray

    def __len__(self) -> int:
        return len(self.clicks)


class ClickModel:
    """The world behind the log; two of the same seed are equal."""

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
        dense = draw.normal(0.0, 1.0, (size, DENSE))
        truth = 1.0 / (1.0 + np.exp(-self._logit(ids, dense)))
        clicks = draw.random(size) < truth
        return Samples(ids, dense.astype("float32"), clicks.astype("int64"), truth)

    def _logit(self, ids: np.ndarray, dense: np.ndarray) -> np.ndarray:
        wide = sum(weights[ids[:, n]] for n, weights in enumerate(self._wide))
        taste = np.sum(self._users[ids[:, 0]] * self._ads[ids[:, 1]], axis=1)
        return -1.0 + wide + taste + dense @ self._dense


def _popular(draw: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Ids of which the low ones are seen more often, as in any click log."""
    return (size * draw.random(count) ** 1.5).astype("int64")


def table_ids(ids: np.ndarray) -> np.ndarray:
    """One id space for all fields, so that one table holds them; 0 is left for padding."""
    starts = np.concatenate([[0], np.cumsum(FIELDS)[:-1]])
    return ids + starts + 1


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve: the share of (click, no click) pairs in the right order."""
    order = np.argsort(score, kind="stable")
    ranks = np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    positives = int(np.sum(truth))
    negatives = len(truth) - positives
    below = np.sum(ranks[truth == 1]) - positives * (positives + 1) / 2
    return float(below / (positives * negatives))


def write_part(samples: Samples, path: Path) -> None:
    """As lines of the format that Paddle's data feed parses: length and values, slot by slot."""
    ids = table_ids(samples.ids)
    with path.open("w") as lines:
        for row in range(len(samples)):
            slots = [f"1 {number}" for number in ids[row]]
            dense = " ".join(f"{value:.4f}" for value in samples.dense[row])
            lines.write(f"{' '.join(slots)} {DENSE} {dense} 1 {samples.clicks[row]}\n")
