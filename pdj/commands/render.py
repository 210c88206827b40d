"""`render FILE`: the pods, Services, ConfigMap and PodGroup that the operator would create."""

import argparse
import json

from api.objects import Raw
from pdj.commands.options import add_files, files_of
from pdj.documents.reader import read_documents
from pdj.documents.render import render_all
from pdj.documents.writer import to_yaml
from pdj.errors import OK
from pdj.session import Session
from reconcile.model.plan import Settings

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
    settings = Settings(scheduling=options.scheduling, elastic_server=options.elastic_server)
    _print(session, render_all(documents, session.now, options.namespace or "", settings))
    return OK


def _print(session: Session, children: list[Raw]) -> None:
    if session.options.output == "json":
        value = {"apiVersion": "v1", "kind": "List", "items": children}
        session.screen.write(json.dumps(value, indent=2))
        return
    session.screen.write(to_yaml(children))
