"""`run IMAGE -- COMMAND`: a job built from flags; `run --local FILE`: one on this machine."""

import argparse
import re

from api.constants import API_VERSION, KIND, TRAINER_CONTAINER, CleanPodPolicy, Intranet, Role
from api.objects import Raw
from api.rules import NAME_MESSAGE, NAME_PATTERN
from pdj.commands import local
from pdj.commands.code import add_code, read_bundle
from pdj.commands.options import natural
from pdj.commands.output import add_output
from pdj.commands.submit import add_dry_run, add_replace, create_jobs
from pdj.commands.wait import add_wait
from pdj.documents.changes import set_field
from pdj.documents.quantities import NO_QUANTITY, is_quantity
from pdj.errors import Usage
from pdj.session import Session

MAX_NAME = 40
WORKERS = 1
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
    parser.add_argument("--workers", type=natural, help=f"the number of workers ({WORKERS})")
    parser.add_argument("--ps", type=natural, help="the number of parameter servers (0)")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="set a variable")
    for kind in ("limits", "requests"):
        help_ = f"the {kind} of each trainer: cpu=4,memory=8Gi"
        parser.add_argument(f"--{kind}", type=_pairs, default={}, metavar="K=V,...", help=help_)
    parser.add_argument("--backoff-limit", type=natural, help="how many restarts after failures")
    parser.add_argument("--intranet", choices=[str(each) for each in Intranet])
    clean = "which pods are deleted when the job ends (Never: none, so logs stay)"
    parser.add_argument("--clean-pod-policy", choices=list(map(str, CleanPodPolicy)), help=clean)
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="change a field of the job"
    )
    local.configure(parser)
    add_code(parser)
    add_dry_run(parser)
    add_replace(parser)
    add_output(parser)
    add_wait(parser, "the job has ended")


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
    job = build_job(options)
    for assignment in options.set:
        set_field(job, assignment)
    return create_jobs(session, [job], read_bundle(session, options.requirements))


def _refuse(options: argparse.Namespace, flags: tuple[str, ...], why: str) -> None:
    """Raise Usage if one of these options is given, because it would be ignored."""
    values = {flag: getattr(options, _attribute(flag)) for flag in flags}
    given = [flag for flag, value in values.items() if value not in UNSET]
    if given:
        raise Usage(f"{', '.join(given)}: {why}")


def _attribute(flag: str) -> str:
    return "programs" if flag == "--program" else flag.removeprefix("--").replace("-", "_")


def build_job(options: argparse.Namespace) -> Raw:
    """The job that the options describe, by default with cleanPodPolicy Never. Raises Usage."""
    spec: Raw = {}
    optional = {
        "backoffLimit": options.backoff_limit,
        "intranet": options.intranet,
        "cleanPodPolicy": options.clean_pod_policy or str(CleanPodPolicy.NEVER),
    }
    spec |= {name: value for name, value in optional.items() if value is not None}
    workers = WORKERS if options.workers is None else options.workers
    counts = {Role.PS: options.ps, Role.WORKER: workers}
    for role, count in counts.items():
        if count:
            spec[str(role)] = {"replicas": count, "template": _template(options)}
    if Role.WORKER not in spec:
        raise Usage("a job without workers trains nothing", "--workers 1", "workers=1")
    name = options.name or name_from(options.image)
    if not re.fullmatch(NAME_PATTERN, name):
        raise Usage(f"the name {name!r} {NAME_MESSAGE}")
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
        raise Usage(f"a variable is NAME=VALUE, not {text!r}", "--env NAME=VALUE")
    return {"name": name, "value": value}


def name_from(image: str) -> str:
    """A job's name: `wide-deep` for the image `registry/org/Wide_Deep:v1`. Raises Usage."""
    last = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    name = re.sub("[^a-z0-9]+", "-", last.lower()).strip("-0123456789")[:MAX_NAME].strip("-")
    if not name:
        raise Usage(f"no job name can be made from {image!r}", "--name NAME", "pass name=")
    return name


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(name and value for name, _, value in pairs):
        raise argparse.ArgumentTypeError(f"not K=V,...: {text}")
    for _, _, value in pairs:
        if not is_quantity(value):
            raise argparse.ArgumentTypeError(f"{value!r} {NO_QUANTITY}")
    return {name: value for name, _, value in pairs}
