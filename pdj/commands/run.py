"""`run IMAGE -- COMMAND`: a job built from flags; `run --local FILE`: one on this machine."""

import argparse

from api.constants import CleanPodPolicy, Intranet, Role
from pdj.commands import local
from pdj.commands.options import natural
from pdj.commands.submit import add_creation, create_jobs
from pdj.documents.job import build_job
from pdj.documents.pods import NO_QUANTITY, is_quantity
from pdj.errors import Usage
from pdj.session import Session

OF_AN_IMAGE = (
    *("--name", "--workers", "--ps", "--env", "--limits", "--requests", "--backoff-limit"),
    *("--intranet", "--clean-pod-policy", "--dry-run", "--output", "--context", "--kubeconfig"),
)
"""Options that `run --local` refuses: the job is in a file, the cluster on this machine."""
OF_LOCAL = ("--program", "--requirements")
UNSET: tuple[object, ...] = (None, [], {}, "")


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `run`."""
    parser.usage = (
        "kubectl pdj run IMAGE [options] [--code DIR [--requirements FILE]] -- COMMAND...\n"
        "       kubectl pdj run --local FILE [--program IMAGE=FOLDER] [--code DIR] [options]"
    )
    parser.add_argument(
        "image", metavar="IMAGE", nargs="?", help="the image of the trainer container"
    )
    parser.add_argument("--name", help="the job's name (default: from the image)")
    parser.add_argument("--workers", type=natural, help="the number of workers (1)")
    parser.add_argument("--ps", type=natural, help="the number of parameter servers (0)")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="set a variable")
    for kind in ("limits", "requests"):
        help_ = f"the {kind} of each trainer: cpu=4,memory=8Gi"
        parser.add_argument(f"--{kind}", type=_pairs, default={}, metavar="K=V,...", help=help_)
    parser.add_argument("--backoff-limit", type=natural, help="how many restarts after failures")
    parser.add_argument("--intranet", choices=[str(each) for each in Intranet])
    clean = "which pods are deleted when the job ends (default: those that still run)"
    parser.add_argument("--clean-pod-policy", choices=list(map(str, CleanPodPolicy)), help=clean)
    local.configure(parser)
    add_creation(parser)


def run(session: Session) -> int:
    """Create the job of the options, or run the job of a file on this machine."""
    options = session.options
    if bool(options.image) == bool(options.local):
        raise Usage("run takes an IMAGE, or --local FILE")
    if options.local:
        _refuse(options, OF_AN_IMAGE, "--local runs the job of its file as it is")
        return local.run(session)
    _refuse(
        options,
        OF_LOCAL[: 1 if options.code else None],
        "these options need --local FILE",
    )
    job = build_job(
        options.image,
        options.name,
        {Role.PS: options.ps, Role.WORKER: 1 if options.workers is None else options.workers},
        options.program,
        options.env,
        {"limits": options.limits, "requests": options.requests},
        backoffLimit=options.backoff_limit,
        intranet=options.intranet,
        cleanPodPolicy=options.clean_pod_policy,
    )
    return create_jobs(session, [job])


def _refuse(options: argparse.Namespace, flags: tuple[str, ...], why: str) -> None:
    """Raise Usage if one of these options is given, because it would be ignored."""
    values = {flag: getattr(options, _attribute(flag)) for flag in flags}
    given = [flag for flag, value in values.items() if value not in UNSET]
    if given:
        raise Usage(f"{', '.join(given)}: {why}")


def _attribute(flag: str) -> str:
    return "programs" if flag == "--program" else flag.removeprefix("--").replace("-", "_")


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(name and value for name, _, value in pairs):
        raise argparse.ArgumentTypeError(f"not K=V,...: {text}")
    for _, _, value in pairs:
        if not is_quantity(value):
            raise argparse.ArgumentTypeError(f"{value!r} {NO_QUANTITY}")
    return {name: value for name, _, value in pairs}
