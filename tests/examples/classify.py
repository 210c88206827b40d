"""A classifier of bright and dark images, trained by PaddleClas's engine.

`python -m paddle.distributed.launch classify.py` starts it in every pod; it writes images and
checkpoints to /data. Its configuration is that of PaddleClas's files, shortened.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import paddleclas  # noqa: F401  (adds the folder of ppcls to the path)
from PIL import Image
from ppcls.engine.engine import Engine
from ppcls.utils.config import AttrDict, create_attr_dict

IMAGES, SIDE = 80, 32
CONFIG: dict[str, Any] = {
    "Global": {
        "checkpoints": None, "pretrained_model": None, "use_visualdl": False, "device": "cpu",
        "output_dir": "/data/output", "save_interval": 10, "eval_during_train": False,
        "epochs": int(os.environ["EPOCHS"]), "print_batch_step": 1,
    },
    "Arch": {"name": "MobileNetV3_small_x0_35", "class_num": 2},
    "Loss": {"Train": [{"CELoss": {"weight": 1.0}}]},
    "Optimizer": {"name": "Adam", "lr": {"name": "Constant", "learning_rate": 0.001}},
    "DataLoader": {"Train": {
        "dataset": {"name": "ImageNetDataset",
                    "transform_ops": [{"DecodeImage": {}}, {"NormalizeImage": {"order": ""}}]},
        "sampler": {"name": "DistributedBatchSampler", "batch_size": 4},
        "loader": {"num_workers": 0, "use_shared_memory": False},
    }},
    "profiler_options": None,
}  # fmt: skip


def write_images(folder: Path) -> Path:
    """Images and their list, in a folder of this pod's own; returns the list."""
    folder.mkdir()
    for index in range(IMAGES):
        noise = np.random.default_rng(index).integers(0, 128, (SIDE, SIDE, 3), np.uint8)
        Image.fromarray(noise + np.uint8(index % 2 * 127)).save(folder / f"{index}.png")
    labels = folder / "train.txt"
    labels.write_text("".join(f"{index}.png {index % 2}\n" for index in range(IMAGES)))
    return labels


def main() -> None:
    """Train to the last epoch, and end once somebody has seen how far it is."""
    labels = write_images(Path("/data", os.environ["PADDLE_TRAINER_ID"]))
    data = CONFIG["DataLoader"]["Train"]["dataset"]
    data.update(image_root=str(labels.parent), cls_label_path=str(labels))
    config = AttrDict(CONFIG)
    create_attr_dict(config)
    Engine(config).train()
    while not Path("/data/seen").exists():
        time.sleep(0.1)


if __name__ == "__main__":
    main()
