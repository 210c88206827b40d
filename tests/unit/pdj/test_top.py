"""`top`: it tells a cluster that measures nothing from one that does not answer now."""

from argparse import Namespace

import pytest

from kube.errors import NotFound, Throttled, Transient
from pdj.commands import top
from pdj.errors import Problem
from pdj.session import Session
from tests.unit.pdj.cluster import JOBS, Cluster, placed

ABSENT = "this cluster does not measure resource usage: it has no metrics.k8s.io"
BUSY = "the server is currently unable to handle the request"
UNREAD = f"the resource usage of pods cannot be read: {BUSY}"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotFound("no such resource", code=404), ABSENT),
        (Transient("HTTP 404, no Status", code=404), ABSENT),
        (Transient(BUSY, code=503), UNREAD),
        (Throttled(BUSY, code=503), UNREAD),
    ],
    ids=["not found", "not served", "no answer", "throttled"],
)
def test_who_measures_and_does_not_answer_is_not_absent(error, said):
    cluster = Cluster(pods=error)
    cluster.objects[f"{JOBS}/mine"] = placed()
    session = Session(Namespace(job="mine", namespace="default"))
    session.__dict__["client"] = cluster
    with pytest.raises(Problem) as raised:
        top.run(session)
    assert str(raised.value) == said
