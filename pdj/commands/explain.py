"""`explain JOB`: why a job is in its state, since when, and who has to do what next."""

import argparse
import os

from api.catalogue.meaning import LANGUAGES
from pdj.commands.options import job_name
from pdj.commands.output import add_output, print_objects
from pdj.errors import OK
from pdj.gather.facts import gather
from pdj.gather.jobs import look
from pdj.gather.progress import TrainingReader
from pdj.judge.judge import judge
from pdj.session import Session
from pdj.text.explain import describe_story, draw_story


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `explain`."""
    parser.add_argument("job", type=job_name, help="the job's name")
    parser.add_argument("--lang", choices=LANGUAGES, help="the language (that of $LANG)")
    add_output(parser)


def run(session: Session) -> int:
    """Print the explanation."""
    language = session.options.lang or environment_language()
    picture = look(session.client, session.namespace, session.options.job)
    reader = TrainingReader(session.client, session.clock)
    story = judge(gather(session.client, picture, reader.read))
    if session.options.output:
        print_objects(session, describe_story(story, language), [picture.raw])
        return OK
    session.screen.write(*draw_story(story, language, session.screen.paint, session.now))
    return OK


def environment_language() -> str:
    """`zh` if the first of LC_ALL, LC_MESSAGES and LANG that is set begins with zh, else `en`."""
    locale = next(
        (os.environ[n] for n in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(n)), ""
    )
    return "zh" if locale.lower().startswith("zh") else "en"
