"""`lint FILE…`: prints errors and advice with line numbers, without a cluster."""

import argparse

from api.trainer import ACCELERATORS
from pdj.commands.options import add_files, files_of
from pdj.documents.advice import NAMES, find_advice
from pdj.documents.checks import Whose, find_errors, is_job
from pdj.documents.reader import Document, read_documents
from pdj.errors import FAILED, OK, Problem, Usage
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `lint`."""
    add_files(parser)
    silence = f"a rule whose advice is not wanted: {', '.join(NAMES)}, or all (repeatable)"
    parser.add_argument("--silence", action="append", default=[], metavar="RULE", help=silence)
    more = f"an accelerator's resource, beside {', '.join(ACCELERATORS)} (repeatable)"
    parser.add_argument("--accelerator", action="append", default=[], metavar="NAME", help=more)
    parser.add_argument("--strict", action="store_true", help="advice counts as an error")


def run(session: Session) -> int:
    """Print the findings; returns 1 if there are errors, with --strict also if there is advice."""
    silenced = _silenced(session.options.silence)
    failed = 0
    jobs = 0
    for file in files_of(session.options):
        try:
            documents = read_documents(file)
        except Usage:
            raise
        except Problem as problem:
            session.screen.write(plain(f"error: {problem}"))
            failed += 1
            continue
        for document in documents:
            if is_job(document):
                jobs += 1
                failed += _lint(session, document, silenced)
            else:
                kind = plain(document.kind.strip("/") or "no object")
                session.notes.write(f"{plain(document.file)}:{document.line}: {kind}: not checked")
    if not jobs and not failed:
        raise Usage("the files contain no PaddleJob")
    return FAILED if failed else OK


def _silenced(names: list[str]) -> frozenset[str]:
    if "all" in names:
        return frozenset(NAMES)
    for name in names:
        if name not in NAMES:
            raise Usage(f"there is no advice {name!r}; there are: {', '.join(NAMES)}")
    return frozenset(names)


def _lint(session: Session, document: Document, silenced: frozenset[str]) -> int:
    """Print a job's errors, or advice if it has none; returns how many of these count as errors."""
    screen = session.screen
    errors = find_errors(document)
    for error in errors:
        whose = f" [{error.whose}]" if error.whose is Whose.OPERATOR else ""
        text = plain(f"{error.path}: {error.message}{whose}")
        screen.write(f"{plain(document.file)}:{error.line}: {screen.paint('error', 'red')}: {text}")
    if errors:
        return len(errors)
    accelerators = (*ACCELERATORS, *session.options.accelerator)
    advice = find_advice(document, silenced, accelerators)
    for each in advice:
        head = f"{plain(document.file)}:{each.line}: {screen.paint('advice', 'yellow')}"
        screen.write(f"{head}: {plain(f'{each.path}: {each.message}')} [{each.rule}]")
    return len(advice) if session.options.strict else 0
