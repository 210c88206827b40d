"""PaddleClas's engine trains with two workers of PaddlePaddle 2.6.2, and `status` reads its log."""

import re
import shutil
from pathlib import Path

import pytest

from tests.live.lab import Lab, paddle_job, shell
from tests.live.pdj import Tool

pytestmark = [pytest.mark.training]

IMAGE = "registry.example.com/paddleclas:2.4.2"
EPOCHS, STEPS = 20, 10
"""Of the 20 batches of an epoch, each of two workers trains half."""
PROGRESS = re.compile(
    rf"epoch \d+/{EPOCHS}  step \d+/{EPOCHS * STEPS} \(\d+ %\)  loss [\d.e-]+  [\d.]+ samples/s"
)


def test_two_workers_train_and_their_progress_is_shown(lab: Lab, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("classify.py"), tmp_path)
    template = shell(
        "",
        image=IMAGE,
        command=["python", "-m", "paddle.distributed.launch", "/data/classify.py"],
        env=[{"name": "EPOCHS", "value": str(EPOCHS)}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
    )
    template["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": str(tmp_path)}}]
    lab.submit(paddle_job("classes", {"worker": (2, template)}, cleanPodPolicy="Never"))
    tool = Tool(lab)
    lab.wait_phase("classes", "Running")

    def is_shown() -> bool:
        status = tool.ok("status", "classes")
        assert "Completed" not in status
        return bool(PROGRESS.search(status))

    lab.wait(is_shown, "progress")
    (tmp_path / "seen").touch()
    lab.wait_completed("classes")
    log = lab.log("classes-worker-0")
    assert f"[Epoch {EPOCHS}/{EPOCHS}][Iter: {STEPS - 1}/{STEPS}]" in log
    checkpoints = tmp_path / "output" / "MobileNetV3_small_x0_35"
    assert {each.name for each in checkpoints.glob(f"epoch_{EPOCHS}.*")} == {
        f"epoch_{EPOCHS}.{kind}" for kind in ("pdparams", "pdopt", "pdstates")
    }
