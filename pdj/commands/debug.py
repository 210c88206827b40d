"""`debug JOB`: a tar file with all that somebody who helps needs to see."""

import argparse
import io
import tarfile
from pathlib import Path

from pdj.errors import OK, Problem
from pdj.gather.bundle import collect
from pdj.gather.jobs import look
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `debug`."""
    parser.add_argument("job", help="the job's name")
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="pdj-JOB.tar.gz")
    parser.add_argument("--with-env", action="store_true", help="with the values of variables")


def run(session: Session) -> int:
    """Write the file; what could not be had is told, and stands in it too."""
    name = session.options.job
    picture = look(session.client, session.namespace, name)
    target = Path(session.options.output or f"pdj-{name}.tar.gz")
    moment = int(session.now.timestamp())
    try:
        with tarfile.open(target, "x:gz") as archive:
            for file, text in collect(session.client, picture, session.options.with_env):
                data = text.encode(errors="backslashreplace")
                info = tarfile.TarInfo(f"pdj-{name}/{file}")
                info.size, info.mtime, info.mode = len(data), moment, 0o600
                archive.addfile(info, io.BytesIO(data))
                if file == "problems.txt":
                    session.notes.write(*(plain(line) for line in text.splitlines()))
    except OSError as error:
        raise Problem(f"cannot write {target}: {error.strerror}") from error
    session.screen.write(f"written: {plain(target)}")
    return OK
