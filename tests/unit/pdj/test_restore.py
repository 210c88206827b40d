"""`restore`: what a backup cannot hold is one line, before anything is created."""

import argparse
import base64
import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest

from api.constants import LABEL_CODE_OF
from api.objects import Raw
from kube.errors import ApiError, Invalid
from kube.parsing import dump_json
from pdj.code.archive import pack
from pdj.code.bundle import Bundle
from pdj.commands import restore
from pdj.commands.complaints import complain
from pdj.commands.restore import read
from pdj.errors import USAGE, Problem, Usage
from pdj.session import Screen, Session
from tests.memory.builders import a_job
from tests.unit.pdj.cluster import Cluster, placed

CODE = {"apiVersion": "v1", "kind": "ConfigMap"}
NAMES = {"name": "a", "namespace": "b"}


def a_job_with(metadata: Any = None, **fields: Any) -> Any:
    job = a_job().with_workers(1).build()
    return {**job, "metadata": {**job["metadata"], **(metadata or {})}, **fields}


@pytest.mark.parametrize(
    "item",
    [
        a_job_with(status="Completed"),
        a_job_with(spec=None),
        a_job_with({"annotations": "x"}),
        a_job_with({"name": 7}),
        a_job_with({"namespace": {"a": 1}}),
        {**CODE, "metadata": {**NAMES, "labels": [LABEL_CODE_OF]}},
        {**CODE, "metadata": {**NAMES, "labels": {LABEL_CODE_OF: {"a": 1}}}},
        {**CODE, "metadata": {**NAMES, "labels": {LABEL_CODE_OF: ["a"]}}},
        {**CODE, "metadata": {**NAMES, "labels": {LABEL_CODE_OF: "\ud800"}}},
        a_job_with({"labels": {"a": None}}),
        a_job_with({"annotations": {"a": {}}}),
        a_job_with({"name": "\ud800"}),
        {**CODE, "kind": "Secret", "metadata": NAMES},
        None,
    ],
)
def test_another_object_is_refused(item, tmp_path):
    file = tmp_path / "backup.json"
    file.write_text(json.dumps({"items": [a_job_with(), item]}))
    with pytest.raises(Usage, match="kubectl pdj backup"):
        read(str(file))


ODD: tuple[Any, ...] = (None, 7, 1e400, -1, "", "\ud800", "é" * 4096, [], {}, [1], {"a": [1]}, True)


def paths_of(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    return [above, *(path for key, each in inner for path in paths_of(each, (*above, key)))]


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    value = copy.copy(value)
    value[path[0]] = replaced(value[path[0]], path[1:], odd)
    return value


def a_backup() -> Raw:
    """A job that had ended, one that had not, and code."""
    bundle = Bundle(pack(Path(), [], [], {"x": b""}))
    ended = {**bundle.attach(placed(labels={"a": "", "b": "c"})), "status": {"phase": "Completed"}}
    code = bundle.config_map(placed())
    return {"apiVersion": "v1", "kind": "List", "items": [code, ended, placed("other")]}


class Server(Cluster):
    """Encodes what it gets, and refuses code that is no base64, as the API server does."""

    def create(self, path: str, body: Raw, query: Raw | None = None) -> Raw:
        json.loads(dump_json(body))
        try:
            for text in body.get("binaryData", {}).values():
                base64.b64decode(text, validate=True)
        except (ValueError, TypeError, AttributeError) as error:
            raise Invalid("no base64") from error
        return super().create(path, body, query)

    def replace(self, path: str, body: Raw, *_: Any, **__: Any) -> Raw:
        dump_json(body)
        self.objects[path.removesuffix("/status")] |= {"status": body["status"]}
        return body


def restored(file: Path, without_ended: bool, said: io.StringIO | None = None) -> int:
    given = argparse.Namespace(file=str(file), namespace=None, without_ended=without_ended)
    session = Session(given, Screen(said or io.StringIO()), Screen(io.StringIO()))
    session.__dict__["client"] = Server()
    try:
        return restore.run(session)
    except (Problem, ApiError) as error:
        return complain(error)


def test_every_odd_field_of_a_backup_is_a_line_or_restored(tmp_path, capsys):
    file, backup = tmp_path / "backup.json", a_backup()
    file.write_text(json.dumps(backup))
    assert restored(file, False) == restored(file, True) == 0
    # Below `spec` the API server refuses what is odd.
    for path in (each for each in paths_of(backup) if "spec" not in each[:-1]):
        for odd in ODD:
            file.write_text(json.dumps(replaced(backup, path, odd)))
            for without_ended in (True, False):
                capsys.readouterr()
                code = restored(file, without_ended)
                lines = capsys.readouterr().err.splitlines()
                assert len(lines) <= len(backup["items"]), path
                assert bool(lines) == (code != 0), path


def test_a_job_that_somebody_changes_meanwhile_is_one_line_and_the_next_is_restored(
    tmp_path, monkeypatch, capsys
):
    class Changed(Server):
        def get(self, path: str, *words: Any, **fields: Any) -> Raw:
            found = super().get(path, *words, **fields)
            return {**found, "metadata": {**found.get("metadata", {}), "annotations": None}}

    monkeypatch.setitem(globals(), "Server", Changed)
    (tmp_path / "backup.json").write_text(json.dumps(a_backup()))
    said = io.StringIO()
    assert restored(tmp_path / "backup.json", False, said) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "mine was changed while it was restored" in line
    assert "default/other starts again" in said.getvalue()


def test_a_backup_cut_off_at_any_byte_is_one_line(tmp_path, capsys):
    file, whole = tmp_path / "backup.json", json.dumps(a_backup()).encode()
    for end in range(0, len(whole), 11):
        file.write_bytes(whole[:end])
        assert restored(file, True) == USAGE
        (line,) = capsys.readouterr().err.splitlines()
        assert "is not a backup" in line
