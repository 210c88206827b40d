"""Wide & Deep as a static program: a linear part over ids beside a small network over embeddings.

Both embedding tables are distributed: they live on the parameter servers only, spread by id,
and a worker fetches the rows of its batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clicks
import numpy as np
import paddle
from paddle.distributed import fleet
from paddle.distributed.fleet.utils.ps_util import DistributedInfer

Variable = Any

DEEP_DIM = 8
#: Paddle's tables cannot have rows of width one: a row has two columns, whose sum is the weight.
WIDE_DIM = 2
HIDDEN_LAYERS = (32, 16)
#: Files per table in a checkpoint; a checkpoint fits any number of servers up to this.
TABLE_SHARDS = 8
TABLES = ("wide", "deep")


@dataclass(frozen=True)
class Network:
    """The variables through which the program gets samples and returns predictions.

    `inference` makes the program that scores samples with the servers' current table rows.
    """

    ids: list[Variable]
    dense: Variable
    label: Variable
    prediction: Variable
    inference: DistributedInfer

    @property
    def features(self) -> list[Variable]:
        """The variables that a prediction needs."""
        return [*self.ids, self.dense]

    @property
    def inputs(self) -> list[Variable]:
        """The variables that training needs, in the order of the values in a line of a log."""
        return [*self.features, self.label]

    def feed(self, samples: clicks.Samples) -> dict[str, np.ndarray]:
        """The samples as an executor takes them: ids and clicks as columns (n, 1)."""
        columns = np.split(samples.ids, len(self.ids), axis=1)
        named = {slot.name: column for slot, column in zip(self.ids, columns, strict=True)}
        return named | {
            self.dense.name: samples.dense,
            self.label.name: samples.clicks[:, np.newaxis],
        }


def build(learning_rate: float) -> Network:
    """Build the network into the default programs, to be trained asynchronously.

    Call it after `fleet.init`.
    """
    names = [f"field_{number}" for number in range(len(clicks.FIELDS))]
    ids = [paddle.static.data(name, [None, 1], "int64", lod_level=1) for name in names]
    dense = paddle.static.data("dense", [None, clicks.DENSE], "float32")
    label = paddle.static.data("label", [None, 1], "int64")
    prediction = paddle.nn.functional.sigmoid(_wide(ids, dense) + _deep(ids, dense))
    loss = paddle.mean(
        paddle.nn.functional.binary_cross_entropy(prediction, paddle.cast(label, "float32"))
    )
    # DistributedInfer copies the program before `minimize`, because Fleet splits the program there.
    inference = DistributedInfer(startup_program=paddle.static.Program())
    _minimize(loss, learning_rate)
    return Network(ids, dense, label, prediction, inference)


def _minimize(loss: Variable, learning_rate: float) -> None:
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    strategy.sparse_table_configs = {
        name: {f"table_parameters.{name}.shard_num": TABLE_SHARDS} for name in TABLES
    }
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(learning_rate), strategy)
    optimizer.minimize(loss)


def _wide(ids: list[Variable], dense: Variable) -> Variable:
    weights = paddle.add_n(_embeddings("wide", ids, WIDE_DIM))
    return paddle.sum(weights, axis=1, keepdim=True) + paddle.static.nn.fc(dense, 1)


def _deep(ids: list[Variable], dense: Variable) -> Variable:
    hidden = paddle.concat([*_embeddings("deep", ids, DEEP_DIM), dense], axis=1)
    for width in HIDDEN_LAYERS:
        hidden = paddle.static.nn.fc(hidden, width, activation="relu")
    return paddle.static.nn.fc(hidden, 1)


def _embeddings(table: str, ids: list[Variable], width: int) -> list[Variable]:
    rows = sum(clicks.FIELDS) + 1
    start = paddle.nn.initializer.Uniform(-0.05, 0.05)
    attribute = paddle.ParamAttr(name=table, initializer=start)
    found = [
        paddle.static.nn.sparse_embedding(slot, size=[rows, width], param_attr=attribute)
        for slot in ids
    ]
    return [paddle.reshape(rows_of_slot, [-1, width]) for rows_of_slot in found]
