"""`debug JOB`: writes a tar file with everything that is needed to help with a job."""

import argparse
import io
import os
import tarfile
from pathlib import Path

from api.objects import Raw
from pdj.code.store import code_of, config_map_names
from pdj.commands.code import describe
from pdj.commands.options import job_name
from pdj.errors import OK, Problem
from pdj.facts.picture import JobPicture
from pdj.gather.bundle import collect
from pdj.gather.jobs import get_job, with_pods
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `debug`."""
    parser.add_argument("job", type=job_name, help="the job's name")
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="(pdj-JOB.tar.gz)")
    parser.add_argument("--with-env", action="store_true", help="include the values of variables")


def run(session: Session) -> int:
    """Write the file; its `problems.txt`, which is also printed, lists what could not be read."""
    name = session.options.job
    raw = get_job(session.client, session.namespace, name)
    try:
        picture = with_pods(session.client, raw)
    except Exception as error:  # perhaps of the pods alone
        picture = JobPicture(raw, (), f"pods: {error}")
    target = Path(session.options.output or f"pdj-{name}.tar.gz")
    try:
        out = os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError as error:
        raise Problem(f"{target} exists already: --output names another file") from error
    except OSError as error:
        raise Problem(f"cannot write {target}: {error.strerror}") from error
    try:
        with out, tarfile.open(fileobj=out, mode="w:gz") as archive:
            code = {"code.txt": lambda: _code(session, picture.raw)}
            for file, text in collect(session.client, picture, session.options.with_env, code):
                _add(archive, f"pdj-{name}/{file}", text, session)
                if file == "problems.txt":
                    session.notes.write(*(plain(line) for line in text.splitlines()))
    except BaseException:
        target.unlink()  # an incomplete file helps nobody
        raise
    session.screen.write(f"written: {plain(target)}")
    return OK


def _code(session: Session, raw: Raw) -> str | None:
    """The list of the files that were sent with the job, if any."""
    if not config_map_names(raw):
        return None
    return "".join(f"{line}\n" for line in describe(code_of(session.client, raw)))


def _add(archive: tarfile.TarFile, name: str, text: str, session: Session) -> None:
    data, shown = (each.encode(errors="backslashreplace") for each in (text, name))
    info = tarfile.TarInfo(shown.decode())
    info.size, info.mtime, info.mode = len(data), int(session.now.timestamp()), 0o600
    archive.addfile(info, io.BytesIO(data))
