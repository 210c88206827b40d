"""`-o json|yaml|name`: unchanged objects, for programs."""

import argparse
import json
from typing import Any

from api.constants import GROUP, PLURAL
from api.objects import Raw
from pdj.session import Session
from pdj.text.terminal import plain

FORMATS = ("json", "yaml", "name")


def add_output(parser: argparse.ArgumentParser) -> None:
    """The option `-o`."""
    parser.add_argument("-o", "--output", choices=FORMATS, help="print objects for programs")


def as_list(objects: list[Raw]) -> Raw:
    """A single object as it is, several as a List, which kubectl and this tool can read."""
    if len(objects) == 1:
        return objects[0]
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def given_name(job: Raw) -> str:
    """The job's name, or its generateName."""
    metadata = job["metadata"]
    return str(metadata.get("name") or metadata.get("generateName") or "")


def print_objects(session: Session, value: Any, named: list[Raw]) -> None:
    """Print the value in the requested format, or with `-o name` the names of the jobs `named`."""
    kind = session.options.output
    if kind == "name":
        session.screen.write(*(f"{PLURAL}.{GROUP}/{plain(given_name(job))}" for job in named))
    elif kind == "json":
        session.screen.write(json.dumps(value, indent=2, ensure_ascii=True))
    else:
        from pdj.documents.writer import to_yaml  # takes time to import; only YAML needs it

        session.screen.write(to_yaml([value]))
