"""A small BERT, trained by PaddleNLP's Trainer, which goes on from the last whole checkpoint.

`python -m paddle.distributed.launch train.py --output_dir=/data/output ...` starts it in every pod;
the arguments are the Trainer's own. The model is made from a config and the sentences on the spot,
so nothing is fetched: put yours in their place.
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
    """Words at random; the label says whether the first one is of the vocabulary's first half."""

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        words = np.random.default_rng(index).integers(0, WORDS, LENGTH)
        return {"input_ids": words, "labels": np.array(int(words[0] < WORDS // 2))}


def last_checkpoint(folder: Path) -> str | None:
    """The newest checkpoint that is whole; None if there is none.

    A pod may be killed amid a write. `get_last_checkpoint` would return what is left of it, and the
    Trainer would begin at step 0: it writes trainer_state.json after the weights.
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
