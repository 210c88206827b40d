"""`run IMAGE -- COMMAND`: a job built from flags."""

import argparse
import re

from api.constants import API_VERSION, KIND, TRAINER_CONTAINER, CleanPodPolicy, Intranet, Role
from api.objects import Raw
from pdj.commands.output import add_output
from pdj.commands.submit import add_dry_run, create_jobs
from pdj.commands.wait import add_wait
from pdj.documents.changes import set_field
from pdj.errors import Usage
from pdj.session import Session

MAX_NAME = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `run`."""
    parser.usage = "kubectl pdj run IMAGE [options] -- COMMAND..."
    parser.add_argument("image", metavar="IMAGE", help="of the trainer container")
    parser.add_argument("--name", default="", help="of the job (from the image)")
    parser.add_argument("--workers", type=_count, default=1, help="how many (%(default)s)")
    parser.add_argument("--ps", type=_count, default=0, help="parameter servers (%(default)s)")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable")
    for kind in ("limits", "requests"):
        help_ = f"of each trainer: cpu=4,memory=8Gi (the {kind})"
        parser.add_argument(f"--{kind}", type=_pairs, default={}, metavar="K=V,...", help=help_)
    parser.add_argument("--backoff-limit", type=_natural, help="charged restarts")
    parser.add_argument("--intranet", choices=[str(each) for each in Intranet])
    parser.add_argument("--clean-pod-policy", choices=[str(each) for each in CleanPodPolicy])
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="a field")
    add_dry_run(parser)
    add_output(parser)
    add_wait(parser, "the job has ended")


def run(session: Session) -> int:
    """Build the job and create it."""
    options = session.options
    job = build_job(options)
    for assignment in options.set:
        set_field(job, assignment)
    return create_jobs(session, [job])


def build_job(options: argparse.Namespace) -> Raw:
    """The job that the flags describe."""
    spec: Raw = {}
    optional = {
        "backoffLimit": options.backoff_limit,
        "intranet": options.intranet,
        "cleanPodPolicy": options.clean_pod_policy,
    }
    spec |= {name: value for name, value in optional.items() if value is not None}
    counts = {Role.PS: options.ps, Role.WORKER: options.workers}
    for role, count in counts.items():
        if count:
            spec[str(role)] = {"replicas": count, "template": _template(options)}
    if Role.WORKER not in spec:
        raise Usage("a job without workers trains nothing: --workers 1")
    name = options.name or _name_from(options.image)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def _template(options: argparse.Namespace) -> Raw:
    container: Raw = {"name": TRAINER_CONTAINER, "image": options.image}
    if options.program:
        container["command"] = list(options.program)
    env = [_variable(each) for each in options.env]
    resources = {"limits": options.limits, "requests": options.requests}
    resources = {name: value for name, value in resources.items() if value}
    container |= {"env": env} if env else {}
    container |= {"resources": resources} if resources else {}
    return {"spec": {"containers": [container]}}


def _variable(text: str) -> Raw:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Usage(f"--env takes NAME=VALUE, not {text!r}")
    return {"name": name, "value": value}


def _name_from(image: str) -> str:
    """`registry/org/Wide_Deep:v1` -> `wide-deep`."""
    last = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    name = re.sub("[^a-z0-9]+", "-", last.lower()).strip("-0123456789")[:MAX_NAME].strip("-")
    if not name:
        raise Usage(f"no name can be made of the image {image!r}: --name")
    return name


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number of pods: {text}")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number: {text}")
    return int(text)


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(name and value for name, _, value in pairs):
        raise argparse.ArgumentTypeError(f"not K=V,...: {text}")
    return {name: value for name, _, value in pairs}
