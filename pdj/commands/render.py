"""`render FILE`: the pods, Services, ConfigMap and PodGroup that the operator would create."""

import argparse
import json

from api.constants import VOLCANO_API_VERSION
from api.objects import Raw
from pdj.commands.options import add_files, files_of
from pdj.documents.checks import find_errors, is_job, with_name
from pdj.documents.reader import Document, read_documents
from pdj.documents.render import Surroundings, render
from pdj.documents.writer import to_yaml
from pdj.errors import OK, Problem, Usage
from pdj.session import Session
from reconcile.model.plan import Settings

VOLCANO_POD_GROUP = f"{VOLCANO_API_VERSION}/PodGroup"
SCHEDULING = ("none", "volcano", "kubernetes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `render`."""
    add_files(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")
    parser.add_argument(
        "--scheduling", choices=SCHEDULING, default="none", help="like the operator's flag"
    )
    parser.add_argument(
        "--elastic-server", default="", metavar="HOST:PORT", help="like the operator's flag"
    )


def run(session: Session) -> int:
    """Print the objects that the operator would create for every job in the files."""
    options = session.options
    documents = [each for file in files_of(options) for each in read_documents(file)]
    jobs = [each for each in documents if is_job(each)]
    if not jobs:
        raise Usage("the files contain no PaddleJob")
    settings = Settings(scheduling=options.scheduling, elastic_server=options.elastic_server)
    groups = [each.value for each in documents if each.kind == VOLCANO_POD_GROUP]
    children = []
    for job in jobs:
        group = next((each for each in groups if _is_named(each, job.value)), None)
        children += _render(session, job, Surroundings(settings=settings, pod_group=group))
    _print(session, children)
    return OK


def _is_named(group: Raw, job: Raw) -> bool:
    """Whether the user's PodGroup belongs to the job: both have the same name."""
    names = [(each.get("metadata") or {}).get("name") for each in (group, job)]
    return names[0] is not None and names[0] == names[1]


def _render(session: Session, document: Document, around: Surroundings) -> list[Raw]:
    errors = find_errors(document)
    if errors:
        first = errors[0]
        raise Problem(f"{document.file}:{first.line}: {first.path}: {first.message}")
    job = document.value
    namespace = session.options.namespace or job["metadata"].get("namespace") or "default"
    job = {**job, "metadata": {**with_name(job)["metadata"], "namespace": namespace}}
    return render(job, session.now, around)


def _print(session: Session, children: list[Raw]) -> None:
    if session.options.output == "json":
        value = {"apiVersion": "v1", "kind": "List", "items": children}
        session.screen.write(json.dumps(value, indent=2))
        return
    session.screen.write(to_yaml(children))
