"""A small BERT, trained by PaddleNLP's Trainer, which goes on from the last complete checkpoint.

Every pod runs `python -m paddle.distributed.launch train.py --output_dir=/data/output ...`; the
arguments are the Trainer's own. Model and sentences are made here, so that nothing has to be
downloaded. Replace them by yours.
"""

from pathlib import Path

import numpy as np
from paddle.io import Dataset
from paddlenlp.trainer import PdArgumentParser, Trainer, TrainingArguments
from paddlenlp.transformers import BertConfig, BertForSequenceClassification

WORDS, LENGTH = 64, 16
CONFIG = BertConfig(
    vocab_size=WORDS,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=LENGTH,
    num_labels=2,
)


class Sentences(Dataset):  # type: ignore[misc]
    """Random words. The label is 1 if the first word is in the first half of the vocabulary."""

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        words = np.random.default_rng(index).integers(0, WORDS, LENGTH)
        return {"input_ids": words, "labels": np.array(int(words[0] < WORDS // 2))}


def last_checkpoint(folder: Path) -> str | None:
    """The newest complete checkpoint; None if there is none.

    A pod can be killed while it writes a checkpoint. `get_last_checkpoint` would return that one,
    and the Trainer would begin at step 0. The Trainer writes trainer_state.json after the weights,
    so a checkpoint that has this file is complete.
    """
    states = [
        each for each in folder.glob("checkpoint-*/trainer_state.json") if each.stat().st_size
    ]
    newest = max(states, key=lambda state: int(state.parent.name.partition("-")[2]), default=None)
    return str(newest.parent) if newest else None


def main() -> None:
    """Train to the last step, and save the model."""
    (arguments,) = PdArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
    trainer = Trainer(
        model=BertForSequenceClassification(CONFIG), args=arguments, train_dataset=Sentences()
    )
    trainer.train(resume_from_checkpoint=last_checkpoint(Path(arguments.output_dir)))
    trainer.save_model()


if __name__ == "__main__":
    main()
