"""A leader sees that another leads too, and nothing in Leases that nobody renews."""

from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from api.objects import Raw
from controller.leader import Candidate
from controller.rivals import REASON, Rivals
from kube.errors import Forbidden

ME = Candidate("ours", "paddlejob-operator-all", "me")


class Leases:
    """The Leases of a cluster, and the Events that were made."""

    def __init__(self) -> None:
        self.leases: list[Raw] = []
        self.events: list[Raw] = []
        self.refuses = False

    def get(self, path: str, query: Raw) -> Raw:
        assert path == "/apis/coordination.k8s.io/v1/leases"
        assert query["labelSelector"] == "app.kubernetes.io/name=paddlejob-operator"
        return {"items": self.leases}

    def create(self, path: str, body: Raw) -> Raw:
        if self.refuses:
            raise Forbidden("events are forbidden")
        assert path == "/api/v1/namespaces/ours/events"
        self.events.append(body)
        return body


def lease(namespace: str, holder: str, renewed: str, name: str = ME.name) -> Raw:
    metadata = {"namespace": namespace, "name": name, "uid": f"u-{namespace}"}
    return {"metadata": metadata, "spec": {"holderIdentity": holder, "renewTime": renewed}}


@pytest.mark.parametrize(
    ("other", "renewed", "leads"),
    [
        (("theirs", "they"), True, True),
        (("theirs", "they"), False, False),
        (("theirs", ""), True, False),
        (("ours", "me"), True, False),
        (("theirs", "they"), None, False),
    ],
    ids=["leads", "has died", "has released it", "is our own", "is no operator's"],
)
def test_another_leader_is_one_whose_lease_is_renewed(clock, metrics, log, other, renewed, leads):
    cluster = Leases()
    rivals = Rivals(cast(Any, cluster), ME, clock, metrics, log)
    with capture_logs() as lines:
        for minute in range(3):
            at = minute if renewed is not False else 0
            name = ME.name if renewed is not None else "a-tenants"
            theirs = lease(*other, renewed=f"{at}", name=name)
            cluster.leases = [lease("ours", "me", f"{minute}"), theirs]
            rivals.look()
    told = [line["lease"] for line in lines if line["event"] == "another_operator_leads"]
    assert told == ["theirs/paddlejob-operator-all"] * (2 if leads else 0)
    assert [event["reason"] for event in cluster.events] == [REASON] * leads
    assert all("theirs/" in event["message"] for event in cluster.events)
    assert f"paddlejob_other_leaders {float(leads)}" in metrics.exposition("")[0].decode()


def test_leader_whose_event_is_refused_is_counted_and_told_of_once_it_is_not(clock, metrics, log):
    cluster = Leases()
    cluster.refuses = True
    rivals = Rivals(cast(Any, cluster), ME, clock, metrics, log)
    for minute in range(4):
        cluster.leases = [
            lease(*each, f"{minute}") for each in (("ours", "me"), ("theirs", "they"))
        ]
        rivals.look()
        counted = "paddlejob_other_leaders 1.0" in metrics.exposition("")[0].decode()
        assert counted == (minute > 0)
        cluster.refuses = minute < 1
    assert len(cluster.events) == 1
