"""docs/progress.md as a reader follows it, and the lines of Model.fit, under PaddlePaddle 2.6.2."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from api.catalogue.reasons import REASONS
from api.constants import Reason
from tests.examples.test_last_words import IMAGE
from tests.live import patience
from tests.live.lab import Lab, paddle_job, shell
from tests.live.pdj import CHECKOUT, Tool, environment

pytestmark = [pytest.mark.training]

PAGE = (CHECKOUT / "docs" / "progress.md").read_text()
FILE = re.compile(r"as `([\w.-]+)`:\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMANDS = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
STEPS = re.compile(r"step ([\d,]+)/([\d,]+) \(\d+ %\)  loss [\d.e+-]+  .*last output \d+s ago")
PLAIN = """
import paddle
network = paddle.nn.Linear(2, 1)
model = paddle.Model(network)
optimizer = paddle.optimizer.SGD(0.001, parameters=network.parameters())
model.prepare(optimizer, paddle.nn.MSELoss())
data = paddle.io.TensorDataset([paddle.rand([16000, 2]), paddle.rand([16000, 1])])
model.fit(data, epochs=1000, batch_size=16, verbose=2, log_freq=100)
"""
SPOILED = PLAIN.replace("0.001", "1e30")


def number(text: str) -> int:
    """A count as `status` writes it."""
    return int(text.replace(",", ""))


def seen(lab: Lab, tool: Tool, job: str) -> tuple[int, int]:
    """Step and total as soon as `status` shows them."""
    found: list[re.Match[str]] = []

    def is_shown() -> bool:
        found.extend(STEPS.finditer(tool.ok("status", job)))
        return bool(found)

    lab.wait(is_shown, f"a step of {job}")
    return number(found[0][1]), number(found[0][2])


@pytest.fixture(scope="module")
def tool(module_lab: Lab) -> Tool:
    """`kubectl pdj` in the namespace of the module's tests."""
    return Tool(module_lab)


def test_every_command_of_the_page(module_lab: Lab, tool: Tool, tmp_path: Path) -> None:
    for name, text in FILE.findall(PAGE):
        (tmp_path / name).write_text(text)
    commands = tmp_path / "bin"
    commands.mkdir()
    path = module_lab.cluster.kubectl_environment()["PATH"]
    python, inside = shlex.quote(sys.executable), f'-n {module_lab.namespace} "$@"'
    script = commands / "kubectl"
    script.write_text(
        f'#!/bin/sh\nif [ "$1" = pdj ]; then shift; exec {python} -m pdj {inside}; fi\n'
        f"exec {shlex.quote(str(shutil.which('kubectl', path=path)))} {inside}\n"
    )
    script.chmod(0o755)
    (block,) = COMMANDS.findall(PAGE)
    said = {}
    for line in block.splitlines():
        if line == "kubectl pdj status fit":
            step, total = seen(module_lab, tool, "fit")
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=environment(tool.kubeconfig, PATH=f"{commands}:{path}"), timeout=patience.SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        said[line] = done.stdout
    assert (step % 10, total) == (0, 1_250_000)
    assert re.search(
        r"fit .* [\d,]+/1,250,000 \(0 %\) +\d+s ago ", said["kubectl pdj list --progress"]
    )
    explained = said["kubectl pdj explain fit"]
    assert "Every pod runs." in explained
    assert re.search(r"Training:\n  step [\d,]+/1,250,000 ", explained)


def test_lines_of_model_fit_are_read(module_lab: Lab, tool: Tool) -> None:
    template = shell("", command=["python", "-c", PLAIN], image=IMAGE)
    module_lab.submit(paddle_job("plain", {"worker": (1, template)}))
    step, total = seen(module_lab, tool, "plain")
    assert total == 1_000_000
    assert step > 0
    later, _ = seen(module_lab, tool, "plain")
    assert later >= step


def test_a_loss_that_a_learning_rate_has_spoiled_is_told(module_lab: Lab, tool: Tool) -> None:
    template = shell("", command=["python", "-c", SPOILED], image=IMAGE)
    module_lab.submit(paddle_job("spoiled", {"worker": (1, template)}))
    module_lab.wait(
        lambda: "LossNotFinite: the loss is nan since step" in tool.ok("status", "spoiled"), "nan"
    )
    meaning = REASONS[Reason.LOSS_NOT_FINITE]
    told = tool.ok("explain", "spoiled")
    assert told.index(meaning.cause[0]) < told.index(meaning.next_step[0])
    assert module_lab.status("spoiled")["phase"] == "Running"
