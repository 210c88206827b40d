"""docs/tools.md, command by command, as a reader would type it; the Chinese page shows the same."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.live import patience
from tests.live.lab import Lab
from tests.live.pdj import CHECKOUT, Tool, environment

DOCS = CHECKOUT / "docs"
OURS = "kubectl pdj "
FIRST = f"{OURS}version"
LOCAL = f"{OURS}run --local "
"""test_run_local.py in tests/examples runs this one."""
BLOCK = re.compile(r"^```(yaml|bash|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(name: str) -> list[tuple[str, str]]:
    return BLOCK.findall((DOCS / name).read_text())


@pytest.fixture
def shell_environment(tool: Tool, module_lab: Lab, tmp_path: Path) -> dict[str, str]:
    """Where kubectl finds the tool, in the namespace of the test."""
    script = tmp_path / "bin" / "kubectl-pdj"
    script.parent.mkdir()
    python = shlex.quote(sys.executable)
    script.write_text(
        f'#!/bin/sh\nexport NS={module_lab.namespace}\nexec {python} -m pdj -n $NS "$@"\n'
    )
    script.chmod(0o755)
    path = module_lab.cluster.kubectl_environment()["PATH"]
    return environment(tool.kubeconfig, PATH=f"{script.parent}:{path}")


def test_every_command_of_the_page(tool, shell_environment, tmp_path, monkeypatch):
    """The first by a shell and kubectl, as what is not of the tool; the others without them."""
    monkeypatch.chdir(tmp_path)
    for language, text in blocks("tools.md"):
        if language == "yaml":
            name = yaml.safe_load(text)["metadata"]["name"]
            (tmp_path / f"{name}.yaml").write_text(text)
        commands = text.splitlines() if language == "bash" else ()
        for command in (each for each in commands if not each.startswith(LOCAL)):
            if command.startswith(OURS) and command != FIRST:
                tool.ok(*shlex.split(command.removeprefix(OURS)))
                continue
            subprocess.run(
                ["sh", "-c", command], env=shell_environment, timeout=patience.SECONDS, check=True
            )


def test_both_languages_show_the_same_commands() -> None:
    assert blocks("tools.md") == blocks("tools.zh.md")
