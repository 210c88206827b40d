"""The command line: usage, exit codes, completion, and what is imported for it."""

import subprocess
import sys

import pytest

from pdj.commands import COMMANDS
from pdj.completion import complete
from pdj.main import build_parser, load_command
from tests.live.pdj import CHECKOUT, environment, run_pdj

HEAVY = (
    "kubernetes",
    "google.protobuf",
    "prometheus_client",
    "structlog",
    "yaml.cyaml",
    "reconcile",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_tells_how_it_is_used(name: str) -> None:
    assert f"kubectl pdj {name}" in build_parser(name, load_command(name)).format_help()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, ""),
        (["nonsense"], 2, "no command 'nonsense'"),
        (["status"], 2, "required"),
        (["list", "--nonsense"], 2, "unrecognized"),
        (["lint", "/no/such/file"], 2, "No such file"),
        (["lint", "-", "--silence", "nonsense"], 2, "no advice is called"),
        (["run", "busybox", "--workers", "x"], 2, "not a number"),
        (["list"], 1, "no cluster"),
        (["--kubeconfig", "/no/such", "list"], 1, "cannot read the kubeconfig"),
    ],
    ids=str,
)
def test_exit_codes(words: list[str], code: int, says: str) -> None:
    done = run_pdj(*words, kubeconfig="/nowhere", stdin=b"", KUBERNETES_SERVICE_HOST="")
    assert done.code == code
    assert says in done.notes


def test_nothing_heavy_is_imported_for_a_status() -> None:
    script = (
        "import sys, pdj.main, pdj.commands.status, pdj.access.client, pdj.access.connection\n"
        "print(*sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, env=environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert not set(HEAVY) & set(told.stdout.split())


def test_completion_of_commands_and_options() -> None:
    assert complete(["su"]) == (["submit", "suspend"], 4)
    assert "--follow" in complete(["logs", "x", "--fo"])[0]
    assert complete(["lint", ""]) == ([], 0)


def test_completion_without_a_cluster_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert complete(["status", ""]) == ([], 4)
