"""`restore FILE`: creates the jobs of a `backup`. Jobs that had ended are restored as ended, and do
not train again.

The API server takes a status only for an object that exists. So a job that had ended is created
suspended, then gets its status, and at last its former `spec.suspend`. An annotation marks the job
until then, so that a second run finishes a restore that was interrupted.
"""

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from api.constants import ANNOTATION_RESTORING, LABEL_CODE_OF
from api.objects import Raw, labels_of, name_of, namespace_of, uid_of
from kube.errors import ApiError, Conflict
from pdj.act.submit import bare, submit
from pdj.code.store import sent
from pdj.commands.backup import is_job
from pdj.commands.complaints import for_each
from pdj.errors import Problem, Usage
from pdj.facts.picture import has_ended
from pdj.gather.jobs import get_job, served
from pdj.gather.paths import path_of
from pdj.session import Session
from pdj.text.errors import explain
from pdj.text.terminal import plain

ROUNDS = 20
"""How many times to try to write a status: the operator can write it at the same time."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `restore`."""
    parser.add_argument("file", metavar="FILE", help="the output of `backup`; - is stdin")
    ended = "leave out jobs that had ended; the others start again in any case"
    parser.add_argument("--without-ended", action="store_true", help=ended)


def run(session: Session) -> int:
    """Create the jobs of the file, with -n only those in that namespace. Skip existing jobs."""
    objects = read(session.options.file)
    only = session.options.namespace
    chosen = [each for each in objects if only in (None, namespace_of(each))]
    if session.options.without_ended:
        ended = {_key(each) for each in chosen if is_job(each) and has_ended(each)}
        chosen = [each for each in chosen if _job_key(each) not in ended]
    codes = [each for each in chosen if not is_job(each)]
    return for_each(
        [each for each in chosen if is_job(each)],
        lambda job: _restore(session, job, [each for each in codes if _job_key(each) == _key(job)]),
    )


def read(file: str) -> list[Raw]:
    """The objects of a backup. Raises Usage if the file is not a backup."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        found: Any = json.loads(data)
        objects = found["items"]
        wrong = [
            each for each in objects if not (_is_sound(each) and (is_job(each) or _is_code(each)))
        ]
    except OSError as error:
        raise Usage(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Usage(f"{file} is not a backup by `kubectl pdj backup`") from error
    if wrong:
        raise Usage(f"{file} has objects that `kubectl pdj backup` does not write")
    return list(objects)


def _restore(session: Session, job: Raw, codes: list[Raw]) -> None:
    """Create one job, after the ConfigMaps with its code."""
    title = f"{plain(namespace_of(job))}/{plain(name_of(job))}"
    with served(session.client), ExitStack() as stack:
        for code in codes:
            stack.enter_context(sent(session.client, bare(code), session.note))
        said = _restore_job(session, job)
    session.screen.write(f"{title} {said}")


def _restore_job(session: Session, job: Raw) -> str:
    """Create the job, or finish a restore that was interrupted; returns what was done."""
    wanted = _held(job) if has_ended(job) else bare(job)
    wanted.pop("status", None)
    made, done = submit(session.client, None, wanted, lambda there, _wanted: there)
    notes = made["metadata"].get("annotations") or {}
    if done != "created" and ANNOTATION_RESTORING not in notes:
        return "exists already and is not changed"
    if not has_ended(job):
        return "starts again"
    try:
        _write_status(session, made, job["status"])
    except ApiError as error:
        session.client.delete(path_of(made), uid_of(made))  # else a resume would train it again
        raise Problem(f"{name_of(job)} is not restored: {explain(error)}") from error
    return f"is {plain(job['status']['phase'])} again"


def _write_status(session: Session, made: Raw, status: Raw) -> None:
    """Give the job its status; then set its former `spec.suspend` and remove the annotation."""
    for left in reversed(range(ROUNDS)):
        now = get_job(session.client, namespace_of(made), name_of(made))
        mark = (now["metadata"].get("annotations") or {}).get(ANNOTATION_RESTORING, "")
        if not mark:
            raise Problem(f"{name_of(made)} was changed while it was restored: look at it")
        try:
            session.client.replace(f"{path_of(made)}/status", {**now, "status": status})
            break
        except Conflict:
            if not left:
                raise
    was = {"true": True, "false": False}.get(mark)
    own = {"annotations": {ANNOTATION_RESTORING: None}, "uid": uid_of(made)}
    session.client.merge_patch(path_of(made), {"metadata": own, "spec": {"suspend": was}})


def _held(job: Raw) -> Raw:
    """A suspended copy of the job, with the former `spec.suspend` in an annotation."""
    held = bare(job)
    was = json.dumps(job["spec"].get("suspend"))
    notes = {**(held["metadata"].get("annotations") or {}), ANNOTATION_RESTORING: was}
    metadata = {**held["metadata"], "annotations": notes}
    return {**held, "metadata": metadata, "spec": {**job["spec"], "suspend": True}}


def _is_sound(obj: Raw) -> bool:
    """Whether the fields read here have the right types; the API server checks the rest."""
    metadata = obj["metadata"]
    names = [metadata.get("name"), metadata.get("namespace")]
    tables = [metadata.get("labels") or {}, metadata.get("annotations") or {}]
    texts = [*names, *(each for table in tables for each in table.values())]
    return (
        all(isinstance(each, str) for each in texts)
        and all(names)
        and all(each.isprintable() for each in (*names, *tables[0].values()))
        and isinstance(obj.get("status") or {}, dict)
        and (isinstance(obj.get("spec"), dict) or not is_job(obj))
    )


def _is_code(obj: Raw) -> bool:
    is_map = (obj.get("apiVersion"), obj.get("kind")) == ("v1", "ConfigMap")
    return is_map and LABEL_CODE_OF in labels_of(obj)


def _key(obj: Raw) -> tuple[str, str]:
    return namespace_of(obj), name_of(obj)


def _job_key(obj: Raw) -> tuple[str, str]:
    """Namespace and name of the job, or of the job that a ConfigMap with code belongs to."""
    return _key(obj) if is_job(obj) else (namespace_of(obj), labels_of(obj)[LABEL_CODE_OF])
