"""What the tool writes as YAML is read as the same values by kubectl, and so by the tool itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from pdj.documents.reader import read_documents, read_value
from pdj.documents.writer import to_yaml
from pdj.main import main
from tests.memory.builders import a_job, a_template

TEXTS = [
    *("y", "n", "Y", "N", "yes", "Off", "true", "null", "~", "", "=", "<<"),
    *("1", "08", "0089", "0o17", "0x1F", "1_000", "1:30", "2026-01-02", "1.5", "1.", "-.5", ".inf"),
    *("1e3", "1e-3", "1E5", "+1e+3", "12e03"),
    *("- a", "a: b", "#x", " x ", "a\nb\n", "a\tb", "训练: 是", "\x1b[31m", "\u202e", "\ufeff"),
]
COMMAND = ["python", "train.py", "--lr", "1e-3", "--shard", "08", "--amp", "n"]


@pytest.mark.parametrize("is_unicode", [False, True], ids=["ascii", "unicode"])
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_text_stays_text(text, is_unicode):
    assert read_value(to_yaml([{text: [text]}], is_unicode)) == {text: [text]}


@pytest.mark.parametrize("value", [1, -1, 0, 1.5, 1e-5, 1e300, True, False, None, [], {}], ids=str)
def test_other_values_stay_themselves(value):
    read = read_value(to_yaml([[value]]))
    assert read == [value]
    assert type(read[0]) is type(value)


def test_no_value_is_told_by_an_alias():
    shared = {"cpu": 1}
    assert to_yaml([{"a": shared, "b": shared}]) == "a:\n  cpu: 1\nb:\n  cpu: 1"


def a_file(folder: Path, command: str) -> list[str]:
    """Words that make the command write a pod with this command line."""
    template = a_template()
    template["spec"]["containers"][0]["command"] = COMMAND
    job = a_job().with_workers(1, template).build()
    if command == "convert":
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
        job["spec"] = {"template": template}
    file = folder / "job.json"
    file.write_text(json.dumps(job))
    return [command, str(file)]


@pytest.mark.parametrize("command", ["run", "submit", "convert", "render"])
def test_arguments_of_a_program_stay_text(command, tmp_path, capsys):
    words = a_file(tmp_path, command)
    words = ["run", "train:1", "--", *COMMAND] if command == "run" else words
    words[2:2] = ["-o", "yaml"] + ["--dry-run=client"] * (command in ("run", "submit"))
    assert main(words) == 0
    written = tmp_path / "written.yaml"
    written.write_text(capsys.readouterr().out)
    values = [document.value for document in read_documents(str(written))]
    assert commands_in(values) == [COMMAND]


def commands_in(value: Any) -> list[list[str]]:
    """The command of every container."""
    if isinstance(value, list):
        return [found for each in value for found in commands_in(each)]
    if not isinstance(value, dict):
        return []
    own = [value["command"]] if "command" in value else []
    return own + [found for each in value.values() for found in commands_in(each)]
