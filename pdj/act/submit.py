"""Creates jobs, each after the ConfigMap with its code, or in place of a job of its name."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from tempfile import NamedTemporaryFile

from api.constants import ANNOTATION_RESTARTED_AT, ANNOTATION_SUBMITTED_BY
from api.objects import Raw, uid_of
from kube.client import STRICT, Client, Query
from kube.errors import AlreadyExists, ApiError, Invalid, Transient
from pdj.act.change import delete
from pdj.act.wait import wait_until_gone
from pdj.code.folder import Say
from pdj.code.store import held, sent
from pdj.errors import Problem
from pdj.gather.jobs import Handle, get_job, served
from pdj.gather.paths import jobs_path

OF_THE_OLD = (ANNOTATION_RESTARTED_AT, "kubectl.kubernetes.io/last-applied-configuration")
"""Annotations that would be wrong for an object that is created again."""
TRIAL: Query = {**STRICT, "dryRun": "All"}
"""The API server checks the object, and keeps nothing."""
SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TRIAL_NAME = 30
"""How many characters of the name the dry run keeps: the API server adds random ones."""


def submit(
    client: Client,
    config_map: Raw | None,
    job: Raw,
    replace: Callable[[Raw, Raw], Raw] | None = None,
    is_trial: bool = False,
    say: Say = lambda _text: None,
) -> tuple[Raw, str]:
    """Create a job, after the ConfigMap with its code; returns the job as the cluster has it, and
    what was done.

    If the name is taken, `replace` gets the job that has it and the new one. Without `replace`, and
    in a trial, which only checks the objects, raises Problem from AlreadyExists.
    """
    name, namespace = job["metadata"].get("name"), job["metadata"]["namespace"]
    with served(client), sent(client, config_map, say, is_trial) if config_map else nullcontext():
        try:
            made = client.create(jobs_path(namespace), job, TRIAL if is_trial else STRICT)
        except AlreadyExists as error:
            if replace is None or is_trial:
                raise Problem(
                    f"there is a job {name} in namespace {namespace} already",
                    "--replace deletes it and creates this one",
                    "replace=True deletes it and creates this one",
                ) from error
            return replace(get_job(client, namespace, name), job), "replaced"
        except Invalid as error:  # the message on an unknown field lacks the job's name
            if not name or f'"{name}"' in error.message:
                raise
            raise Problem(f"{name}: {error.message}") from error
        return made, "would be created" if is_trial else "created"


def user_name(client: Client) -> str:
    """The name by which the API server knows this client's user; empty if it does not say, as
    before Kubernetes 1.28.
    """
    try:
        status = client.create(SELF_REVIEWS, {}).get("status") or {}
    except ApiError:
        return ""
    return str((status.get("userInfo") or {}).get("username") or "")


def signed(job: Raw, namespace: str, user: str) -> Raw:
    """The job in a namespace, with a note of the user who submits it; without one if unknown."""
    metadata = {**job["metadata"], "namespace": namespace}
    notes = metadata.get("annotations") or {}
    if isinstance(notes, dict):  # else the API server refuses it in its own words
        notes = {k: v for k, v in notes.items() if k != ANNOTATION_SUBMITTED_BY}
        metadata["annotations"] = notes | ({ANNOTATION_SUBMITTED_BY: user} if user else {})
    return {**job, "metadata": metadata}


def bare(obj: Raw) -> Raw:
    """A copy whose metadata has only name, namespace, labels, and annotations not in OF_THE_OLD."""
    metadata = {k: obj["metadata"].get(k) for k in ("name", "namespace", "labels", "annotations")}
    notes = metadata["annotations"] or {}
    metadata["annotations"] = {k: v for k, v in notes.items() if k not in OF_THE_OLD}
    return {**obj, "metadata": {k: v for k, v in metadata.items() if v}}


def replace_job(
    handle: Handle,
    old: Raw,
    job: Raw | None = None,
    say: Say = lambda _text: None,
    lost: Callable[[str, str], None] = lambda _job, _note: None,
) -> Raw:
    """Delete a job, and create another of its name, or one with the same fields; returns it.

    Nothing is deleted unless a dry run shows that the API server accepts the new job. If creating
    the new job fails all the same, the job is written to a file if one can be written, and a note
    of the error names it. `lost` gets the job as text, and the note.
    """
    if job is None:
        again = {k: v for k, v in bare(old).items() if k != "status"}
        job = signed(again, handle.namespace, user_name(handle.client))
    client, name, path = handle.client, handle.name, jobs_path(handle.namespace)
    trial = {**job["metadata"], "name": None, "generateName": name[:TRIAL_NAME]}
    client.create(path, {**job, "metadata": trial}, TRIAL)
    is_asked = False
    try:
        with interrupted_by_signals(), held(client, job, say):
            delete(client, old)
            is_asked = True
            wait_until_gone(handle, uid_of(old))
            return client.create(path, job, STRICT)
    except (ApiError, Problem, KeyboardInterrupt) as error:
        if is_asked or isinstance(error, Transient | KeyboardInterrupt):
            deleted = "is deleted" if is_asked else "may be deleted"
            text = json.dumps(job, indent=2)
            note = f"{name} {deleted} and could not be created again; {_keep(name, text)}"
            error.add_note(note)
            lost(text, note)
        raise


def _keep(name: str, text: str) -> str:
    """Write a job to a new file, if that is possible; returns where it is, in words."""
    try:
        with NamedTemporaryFile("w", prefix=f"{name}-", suffix=".json", delete=False) as file:
            file.write(text)
    except OSError as error:
        return f"no file of it could be written ({error.strerror})"
    return f"it is kept in {file.name}"


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP of a closed terminal, interrupt the block as Ctrl-C does.

    Signals that are ignored or handled already are left alone. Only the main thread can do this.
    """
    before = {}
    with suppress(ValueError):
        for each in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(each) is signal.SIG_DFL:
                before[each] = signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
