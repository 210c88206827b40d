"""What is read to explain a job: narrowed by the server, bounded, side by side; gaps are facts."""

import threading
from typing import Any

import pytest

from api.constants import Reason
from api.objects import Raw
from kube.client import PAGE
from kube.errors import ApiError, Forbidden, TooLarge, Unreachable
from pdj.facts.facts import HIDDEN
from pdj.facts.picture import JobPicture
from pdj.gather.facts import gather
from pdj.gather.questions import MAX_EVENT_PODS, MAX_EVENTS, MAX_NODES
from pdj.judge.judge import judge
from tests.live import patience
from tests.memory.builders import JobBuilder, a_job, a_pod
from tests.unit.pdj.cluster import Cluster

WAITS = Reason.UNSCHEDULABLE


class Asked(Cluster):
    """A cluster without end, or one that refuses, which notes the queries of lists."""

    def __init__(self, refusal: ApiError | None = None) -> None:
        super().__init__()
        self.refusal, self.lists_asked = refusal, list[tuple[str, Raw]]()

    def get(self, path: str, query: Raw | None = None, *_: Any, **more: Any) -> Raw:
        """A full page, and more after it."""
        if self.refusal:
            raise self.refusal
        if query is None:
            return super().get(path)
        assert more["max_bytes"] > 0
        self.lists_asked.append((path.rpartition("/")[2], dict(query)))
        about = {"kind": "Pod", "name": "train-worker-0", "uid": "u"}
        one = {"metadata": {"name": "one"}, "involvedObject": about}
        return {"items": [one] * query["limit"], "metadata": {"continue": "more"}}


def a_waiting_job(workers: int = 1) -> JobBuilder:
    job = a_job().with_workers(workers).with_status(phase="Pending")
    return job.with_condition("Pending", True, reason=WAITS)


def test_events_are_narrowed_to_the_job_and_to_some_of_its_pods():
    cluster = Asked()
    job = a_waiting_job(40).build()
    pods = [a_pod(job, index=n) for n in range(30)]
    running = [pod.running().build() for pod in pods[:20]]
    facts = gather(cluster, JobPicture(job, (*running, *(pod.build() for pod in pods[20:]))))
    selectors = [query["fieldSelector"] for kind, query in cluster.lists_asked if kind == "events"]
    assert "involvedObject.uid=0123abcd-uid" in selectors
    names = {each.rpartition("=")[2] for each in selectors if "kind=Pod" in each}
    assert len(names) == len(selectors) - 1 == MAX_EVENT_PODS
    assert {f"train-worker-{n}" for n in range(20, 30)} <= names, "those in trouble come first"
    assert len(facts.events) == MAX_EVENTS * (MAX_EVENT_PODS + 1)


def test_a_list_without_end_is_read_up_to_its_bound_and_says_so():
    cluster = Asked()
    story = judge(gather(cluster, JobPicture(a_waiting_job().build())))
    pages = [query for kind, query in cluster.lists_asked if kind == "nodes"]
    assert len(pages) == MAX_NODES / PAGE
    assert story.evidence["nodes"][-1] == f"there are more than {MAX_NODES}"
    assert story.warnings == (f"there are more than {MAX_EVENTS}",)


@pytest.mark.parametrize(
    ("refusal", "nodes"),
    [
        (Forbidden("events is forbidden"), HIDDEN),
        (Unreachable("no answer"), "no answer"),
        (TooLarge("more than 32 MiB"), "more than 32 MiB"),
    ],
)
def test_what_cannot_be_read_is_a_fact(refusal, nodes):
    story = judge(gather(Asked(refusal), JobPicture(a_waiting_job().build())))
    assert story.findings[0].reason == WAITS
    assert story.evidence["nodes"] == [nodes]
    assert story.warnings == (refusal.message,)


def test_reads_do_not_wait_for_one_another():
    together = threading.Barrier(3)

    class Slow(Cluster):
        def get(self, path: str, query: Raw | None = None, *_: Any, **__: Any) -> Raw:
            together.wait(patience.SECONDS)
            return {"items": []}

    def read(_: object) -> None:
        together.wait(patience.SECONDS)

    job = a_job().with_workers(1).with_status(phase="Running").build()
    gather(Slow(), JobPicture(job), read)  # Events of the job and of its pod, and the training


def test_a_page_that_looks_again_asks_nothing_new_of_pods_that_run():
    job = a_job().with_workers(2).with_status(phase="Running").build()
    pods = (a_pod(job).running().build(), a_pod(job, index=1).build())
    cluster = Asked()
    facts = gather(cluster, JobPicture(job, pods))
    cluster.lists_asked.clear()
    again = gather(cluster, facts.picture, known=facts.settled)
    selectors = [query["fieldSelector"] for _, query in cluster.lists_asked]
    assert sorted(each.rpartition("=")[2] for each in selectors) == [
        "0123abcd-uid",
        "train-worker-1",
    ]
    assert len(again.events) == len(facts.events)
