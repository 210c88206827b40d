"""`top JOB`: the resource usage of a job's pods, if the cluster measures it."""

import argparse
from decimal import Decimal, InvalidOperation
from http import HTTPStatus

from api.objects import Raw, name_of
from kube.errors import Forbidden, NotFound, Throttled, Transient
from pdj.commands.options import job_name
from pdj.errors import OK, Problem
from pdj.gather.jobs import get_job
from pdj.gather.paths import of_job
from pdj.session import Session
from pdj.text.tables import table
from pdj.text.terminal import plain

METRICS = "/apis/metrics.k8s.io/v1beta1"
MIB = 1 << 20
_UNITS = {
    **{unit: Decimal(1000) ** power for power, unit in enumerate(["n", "u", "m", "", *"kMGT"], -3)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGT", 1)},
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `top`."""
    parser.add_argument("job", type=job_name, help="the job's name")


def run(session: Session) -> int:
    """Print CPU and memory of each pod."""
    name = session.options.job
    get_job(session.client, session.namespace, name)  # it says where else there is one
    path = f"{METRICS}/namespaces/{session.namespace}/pods"
    try:
        pods, _ = session.client.list(path, {"labelSelector": of_job(name)})
    except (NotFound, Transient, Throttled) as error:
        said = f"the resource usage of pods cannot be read: {error.message}"
        if isinstance(error, NotFound) or error.code == HTTPStatus.NOT_FOUND:
            said = "this cluster does not measure resource usage: it has no metrics.k8s.io"
        raise Problem(said) from error
    except Forbidden as error:
        raise Problem(
            f"you are not allowed to see the resource usage of pods: {error.message}"
        ) from error
    rows = [("POD", "CPU", "MEMORY"), *(_row(pod) for pod in sorted(pods, key=name_of))]
    session.screen.write(*table(rows))
    return OK


def _row(pod: Raw) -> tuple[str, str, str]:
    usage = [each.get("usage") or {} for each in pod.get("containers") or ()]
    cpu = sum((quantity(each.get("cpu", "0")) for each in usage), Decimal(0))
    memory = sum((quantity(each.get("memory", "0")) for each in usage), Decimal(0))
    return plain(name_of(pod)), f"{int(cpu * 1000)}m", f"{int(memory / MIB)}Mi"


def quantity(text: str) -> Decimal:
    """Parse a Kubernetes quantity, with units up to T and Ti; 0 for any other text."""
    digits = str(text).rstrip("numkKMGTi")
    unit = str(text)[len(digits) :]
    try:
        return Decimal(digits) * _UNITS[unit]
    except (InvalidOperation, KeyError):
        return Decimal(0)
