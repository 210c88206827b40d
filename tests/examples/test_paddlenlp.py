"""PaddleNLP's Trainer loses a worker to kill -9; the next attempt goes on from its checkpoint.

The recipe with its program, PaddlePaddle 2.6.2 and two workers. `make prepare` brings no PaddleNLP,
which has a hundred packages: the test is skipped where nobody has installed it by
`python -m tests.live.paddlenlp`.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples.files import example
from tests.live import paddlenlp
from tests.live.lab import CORE, Lab
from tests.live.nodepods import kill_processes

pytestmark = [
    pytest.mark.training,
    pytest.mark.skipif(not paddlenlp.is_installed(), reason=paddlenlp.WHY_NOT),
]

STEPS, SAVE_STEPS = 120, 5
SMALLER = (
    *(f"--max_steps={STEPS}", f"--save_steps={SAVE_STEPS}", f"--logging_steps={SAVE_STEPS}"),
    *("--per_device_train_batch_size=4", "--disable_tqdm=true"),
)


def small(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The recipe on CPUs, with a folder of this machine as its claim."""
    pod = job["spec"]["worker"]["template"]["spec"]
    (container,) = pod["containers"]
    del container["resources"]
    container["command"] += SMALLER
    others = [each for each in pod["volumes"] if each["name"] != "data"]
    pod["volumes"] = [*others, {"name": "data", "hostPath": {"path": str(folder)}}]
    job["spec"]["cleanPodPolicy"] = "Never"
    return job


def test_the_next_attempt_goes_on(lab: Lab, tmp_path: Path) -> None:
    lab.submit(small(example("recipes/paddlenlp_trainer.yaml"), tmp_path))
    checkpoints = tmp_path / "output" / "nlp"
    whole = f"checkpoint-{2 * SAVE_STEPS}/trainer_state.json"
    lab.wait((checkpoints / whole).exists, "checkpoints")
    kill_processes(lab.cluster, lab.get(CORE, "pods/nlp-trainer-worker-1"))
    status = lab.wait_completed("nlp-trainer")
    assert (status["attempt"], status["failures"][0]["pod"]) == (2, "nlp-trainer-worker-1")
    for index in (0, 1):
        log = lab.log(f"nlp-trainer-worker-{index}")
        (step,) = re.findall(r"Continuing training from global step (\d+)", log)
        assert 2 * SAVE_STEPS <= int(step) < STEPS
        assert f"global_step: {STEPS}" in log
    assert (checkpoints / "model_state.pdparams").exists()
