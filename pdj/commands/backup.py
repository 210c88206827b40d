"""`backup`: jobs with their status and their code as JSON, for `restore`."""

import argparse
import json

from api.constants import API_VERSION, KIND
from api.objects import Raw, is_deleting, name_of, namespace_of
from pdj.act.submit import bare
from pdj.code.store import codes_of
from pdj.errors import OK
from pdj.gather.jobs import list_jobs
from pdj.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `backup`."""
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="the jobs of all namespaces"
    )
    parser.add_argument("-l", "--selector", default="", help="a label selector")


def run(session: Session) -> int:
    """Print a List of the jobs and their code, one object per line.

    Jobs that are being deleted are left out.
    """
    options = session.options
    where = "" if options.all_namespaces else session.namespace
    jobs = list_jobs(session.client, where, options.selector)
    kept = [job for job in jobs if not is_deleting(job)]
    kept.sort(key=lambda job: (namespace_of(job), name_of(job)))
    objects = [each for job in kept for each in (*_code_of(session, job), bare(job))]
    lines = ",\n".join(json.dumps(each) for each in objects)
    session.screen.write(f'{{"apiVersion": "v1", "kind": "List", "items": [\n{lines}\n]}}')
    session.note(f"{len(kept)} jobs; `kubectl pdj restore FILE` brings them back")
    return OK


def _code_of(session: Session, job: Raw) -> list[Raw]:
    """The ConfigMaps that `--code` has sent with the job, if they still exist."""
    found = codes_of(session.client, job)
    return [{**bare(each), "apiVersion": "v1", "kind": "ConfigMap"} for each in found]


def is_job(obj: Raw) -> bool:
    """Whether the object is a PaddleJob of this API version."""
    return (obj.get("apiVersion"), obj.get("kind")) == (API_VERSION, KIND)
