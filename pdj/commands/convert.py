"""`convert FILE`: converts Kubeflow's PaddleJobs, Volcano's Jobs and plain Jobs to PaddleJobs."""

import argparse
import json

from pdj.commands.options import add_files, files_of
from pdj.commands.output import as_list
from pdj.documents.advice import NAMES, OF_OTHERS, find_advice
from pdj.documents.checks import find_errors
from pdj.documents.convert import convert
from pdj.documents.reader import Document, read_documents
from pdj.documents.writer import to_yaml
from pdj.errors import FAILED, OK, Usage
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `convert`."""
    add_files(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")
    strict = "exit code 1 if a field is dropped or guessed"
    parser.add_argument("--strict", action="store_true", help=strict)


def run(session: Session) -> int:
    """Print the jobs; notes about dropped, guessed or refused fields go to standard error."""
    options = session.options
    documents = [each for file in files_of(options) for each in read_documents(file)]
    if not documents:
        raise Usage("the files contain no object")
    jobs, noted = [], 0
    for document in documents:
        if not isinstance(document.value, dict):
            raise Usage(f"{document.file}:{document.line}: no object")
        try:
            job, notes = convert(document.value)
        except Usage as error:
            raise Usage(f"{document.file}:{document.line}: {error}") from error
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise Usage(
                f"{document.file}:{document.line}: a field is missing, or has a wrong type"
            ) from error
        converted = Document(document.file, document.line, job, {})
        errors = find_errors(converted)
        notes += [f"refused {each.path}: {each.message}" for each in errors]
        advice = [] if errors else find_advice(converted, frozenset(NAMES) - OF_OTHERS)
        notes += [f"check {each.path}: {each.message}" for each in advice]
        session.notes.write(*(plain(f"{document.file}: {note}") for note in notes))
        noted += len(notes)
        jobs.append(job)
    if options.output == "json":
        session.screen.write(json.dumps(as_list(jobs), indent=2))
    else:
        session.screen.write(to_yaml(jobs, allow_unicode=True))
    return FAILED if noted and options.strict else OK
