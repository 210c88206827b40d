"""The lives of a job that `explore` plays: a spec, then steps, and between them seconds."""

from typing import Any

from tests.faults.scenario import Step

Story = tuple[dict[str, Any], *tuple[Step | int, ...]]


def _end(code: int, pod: str = "train-worker-0") -> Step:
    return {"do": "end", "pod": pod, "code": code}


def _edit(**fields: Any) -> Step:
    return {"do": "edit", **fields}


PAIR = {"workers": 2, "backoffLimit": 3}
ELASTIC = {"elastic": [2, 1, 3], "backoffLimit": 3}
QUEUED = {"queue": "q"}
LOST: Step = {"do": "vanish", "pod": "train-worker-1"}
STORIES: dict[str, Story] = {
    "ends": ({"ps": 1, "workers": 2, "cleanPodPolicy": "Always"}, 12, _end(0)),
    "fails": ({"workers": 2}, 12, _end(1)),
    "restarts": (PAIR, 12, _end(1)),
    "limit": ({"workers": 2, "backoffLimit": 1}, 12, _end(1), 4, _end(1)),
    "suspended": (PAIR, 12, _edit(suspend=True)),
    "resumed": (PAIR | {"suspend": True}, 12, _edit(suspend=False)),
    "suspended and resumed": (PAIR, 12, _edit(suspend=True), 6, _edit(suspend=False)),
    "scaled up": (ELASTIC, 12, {"do": "scale", "replicas": 3}),
    "scaled down": (ELASTIC, 12, {"do": "scale", "replicas": 1}),
    "asks for a restart": (ELASTIC, 12, _end(101)),
    "loses a pod": (PAIR, 12, LOST),
    "is evicted": (PAIR, 12, {"do": "evict", "pod": "train-worker-0"}),
    "leaves with 0 when evicted": (PAIR, 12, {"do": "evict", "pod": "train-worker-0", "code": 0}),
    "an elastic worker leaves with 0 when evicted": (
        ELASTIC,
        12,
        {"do": "evict", "pod": "train-worker-0", "code": 0},
    ),
    "is rejected": (PAIR, 12, {"do": "reject", "name": "train-worker-0"}),
    "its container is lost": (PAIR, 12, {"do": "lose", "pod": "train-worker-0"}),
    "a user deletes a pod": (PAIR, 12, {"do": "remove", "kind": "Pod", "name": "train-worker-0"}),
    "loses its ConfigMap": (PAIR, 12, {"do": "remove", "kind": "ConfigMap", "name": "train"}, LOST),
    "loses its ConfigMap while a pod waits": (
        PAIR,
        {"do": "pull", "name": "train-worker-1"},
        12,
        {"do": "remove", "kind": "ConfigMap", "name": "train"},
        {"do": "pulled"},
    ),
    "kubelets sleep": (PAIR, {"do": "sleep", "seconds": 12}, 12, _end(1), 12, LOST),
    "worker 0 goes before its peers are woken": (
        PAIR,
        {"do": "sleep", "seconds": 12},
        {"do": "vanish", "pod": "train-worker-0"},
    ),
    "same name again": (PAIR, 12, {"do": "recreate"}),
    "TTL": (PAIR | {"ttlSecondsAfterFinished": 10}, 12, _end(0), _end(0, "train-worker-1")),
    "deadline": (PAIR | {"activeDeadlineSeconds": 20},),
    "adopted": (PAIR | {"inherited": True}, 12, LOST),
    "gang": (PAIR | {"schedulingPolicy": {}}, 12, _end(1)),
    "Host": (PAIR | {"intranet": "Host"}, 12, _end(1)),
    "queued": (PAIR | QUEUED, 12, _end(1)),
    "preempted": (PAIR | QUEUED, 12, {"do": "preempt"}),
    "queued and suspended": (PAIR | QUEUED, 12, _edit(suspend=True), 6, _edit(suspend=False)),
    "queued and scaled": (ELASTIC | QUEUED, 12, {"do": "scale", "replicas": 3}),
    "queued, and comes back larger": (
        PAIR | QUEUED,
        12,
        {"do": "kueue-leaves"},
        _edit(suspend=True),
        6,
        {"do": "reshape", "replicas": 3, "zone": "b"},
        12,
        {"do": "kueue-returns"},
    ),
    "queued, and comes back elsewhere": (
        ELASTIC | QUEUED,
        12,
        {"do": "kueue-leaves"},
        _edit(suspend=True),
        6,
        {"do": "reshape", "replicas": 3, "zone": "b"},
        12,
        {"do": "kueue-returns"},
    ),
    "leaves its queue": (
        PAIR | QUEUED,
        12,
        {"do": "relabel", "queue": ""},
        6,
        {"do": "preempt"},
    ),
    "Services": (PAIR | {"intranet": "Service"}, 12, LOST),
    "partly placed": (
        PAIR,
        {"do": "crowd_out", "name": "train-worker-1"},
        24,
        {"do": "make_room"},
    ),
    "in place": (
        PAIR | {"onFailure": True},
        12,
        {"do": "restart-in-place", "pod": "train-worker-0"},
    ),
}
"""A step on a pod waits until the pod runs."""
