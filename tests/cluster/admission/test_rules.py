"""What the API server says to a PaddleJob: it admits the legal, and refuses with a reason."""

import uuid
from typing import Any

import pytest

from api.objects import Raw
from localcluster import Cluster
from tests.live.apiserver import DRY_RUN, Answer, ApiServer, jobs_path
from tests.memory import bad_jobs
from tests.memory.bad_jobs import BadJob
from tests.memory.builders import a_job, a_template

ELASTIC = a_job("elastic").with_elastic_workers(2, 1, 4).build()
PS = (
    a_job("ps").with_ps(2).with_workers(2).with_spec(backoffLimit=1, cleanPodPolicy="Never").build()
)


class Jobs:
    """Creates and changes jobs in a namespace, as a user would."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self._server = server
        self._namespace = namespace

    def submit(self, job: Raw, name: str, *query: str) -> Answer:
        """The answer to a create of the job under this name."""
        written = job | {"metadata": {"name": name}}
        return self._server.create(jobs_path(self._namespace), written, *query)

    def made(self, job: Raw, **spec: Any) -> str:
        """The name of a new job, with these fields of its spec set."""
        name = f"job-{uuid.uuid4().hex[:8]}"
        answer = self.submit(job | {"spec": job["spec"] | spec}, name)
        assert answer.is_ok, answer.message
        return name

    def change(self, name: str, spec: Raw, **more: Any) -> Answer:
        return self._server.merge_patch(jobs_path(self._namespace, name), {"spec": spec} | more)

    def set_phase(self, name: str, phase: str) -> None:
        path = jobs_path(self._namespace, name, "status")
        answer = self._server.merge_patch(path, {"status": {"phase": phase}})
        assert answer.is_ok, answer.message


@pytest.fixture(scope="module")
def jobs(cluster: Cluster, crd: None) -> Jobs:
    server = ApiServer(cluster)
    return Jobs(server, server.create_namespace())


@pytest.mark.parametrize("bad", [*bad_jobs.schema(), *bad_jobs.rules()], ids=str)
def test_refuses(jobs: Jobs, bad: BadJob) -> None:
    answer = jobs.submit(bad.job, bad.job["metadata"]["name"], DRY_RUN)
    assert not answer.is_ok
    assert bad.field in answer.message
    assert bad.says in answer.message


@pytest.mark.parametrize("bad", [*bad_jobs.python_only()], ids=str)
def test_leaves_to_the_operator(jobs: Jobs, bad: BadJob) -> None:
    assert jobs.submit(bad.job, "left", DRY_RUN).is_ok


TEMPLATE = {"spec": {"containers": [{"name": "paddle", "image": "other"}]}}
FORBIDDEN_CHANGES: dict[str, tuple[Raw, Raw, str]] = {
    "image": (PS, {"worker": {"template": TEMPLATE}}, "spec.worker.template"),
    "ps-image": (PS, {"ps": {"template": TEMPLATE}}, "spec.ps.template"),
    "labels": (
        PS,
        {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}},
        "spec.worker.template may change only while",
    ),
    "untyped": (
        PS,
        {"worker": {"template": {"spec": {"overhead": {"cpu": "1"}}}}},
        "spec.worker.template",
    ),
    "replicas": (PS, {"worker": {"replicas": 3}}, "spec.worker.replicas may change only"),
    "ps-replicas": (PS, {"ps": {"replicas": 3}}, "spec.ps.replicas may change only"),
    "beyond-limits": (ELASTIC, {"worker": {"replicas": 5}}, "limits must not be less"),
    "below-requests": (
        ELASTIC,
        {"worker": {"replicas": 1, "requests": 2}},
        "requests must not be more",
    ),
    "limits": (ELASTIC, {"worker": {"limits": 5}}, "limits cannot change"),
    "requests-gone": (ELASTIC, {"worker": {"requests": None}}, "requests cannot change"),
    "elastic": (ELASTIC, {"elastic": None}, "spec.elastic cannot change"),
    "gloo": (PS, {"withGloo": 2}, "spec.withGloo: Invalid value"),
    "intranet": (PS, {"intranet": "Host"}, "spec.intranet: Invalid value"),
    "managed-by": (PS, {"managedBy": "kueue.x-k8s.io/multikueue"}, "spec.managedBy cannot change"),
    "starting-deadline": (PS, {"startingDeadlineSeconds": 5}, "spec.startingDeadlineSeconds"),
    "failure-policy": (PS, {"podFailurePolicy": {"rules": []}}, "spec.podFailurePolicy cannot"),
    "scheduling": (PS, {"schedulingPolicy": {"queue": "q"}}, "spec.schedulingPolicy may change"),
    "ps-goes": (PS, {"ps": None}, "spec.ps cannot be added or removed"),
    "heter-comes": (
        PS,
        {"heter": {"replicas": 1, "template": a_template()}},
        "spec.heter cannot be added or removed",
    ),
    "worker-goes": (PS, {"worker": None}, "Required"),
}
ALLOWED_CHANGES: dict[str, tuple[Raw, Raw]] = {
    "elastic-up": (ELASTIC, {"worker": {"replicas": 4}}),
    "elastic-down": (ELASTIC, {"worker": {"replicas": 1}}),
    "suspend": (PS, {"suspend": True}),
    "ttl": (PS, {"ttlSecondsAfterFinished": 5}),
    "deadline": (PS, {"activeDeadlineSeconds": 5}),
    "backoff": (PS, {"backoffLimit": 5}),
    "stall-policy": (PS, {"stallPolicy": {"action": "Restart"}}),
    "resume": (PS, {"resume": "Paddle"}),
    "backoff-unset": (PS, {"backoffLimit": None}),
    "clean-policy": (PS, {"cleanPodPolicy": "Always"}),
    "defaults-written-down": (PS, {"withGloo": 1, "intranet": "PodIP"}),
}
POD_CHANGES: dict[str, Any] = {
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "schedulingGates": [{"name": "example.com/hold"}],
}
HELD_CHANGES: dict[str, Raw] = {
    "worker-replicas": {"worker": {"replicas": 3}},
    "ps-replicas": {"ps": {"replicas": 1}},
    "scheduling": {"schedulingPolicy": {"queue": "q"}},
    "labels": {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}},
    "annotations": {"ps": {"template": {"metadata": {"annotations": {"a": "b"}}}}},
    "and-resumed": {"suspend": False, "worker": {"replicas": 3}},
}
HELD_CHANGES |= {
    name: {"worker": {"template": {"spec": {name: new}}}} for name, new in POD_CHANGES.items()
}


@pytest.mark.parametrize(("job", "spec", "says"), FORBIDDEN_CHANGES.values(), ids=FORBIDDEN_CHANGES)
def test_refuses_a_change(jobs: Jobs, job: Raw, spec: Raw, says: str) -> None:
    assert says in jobs.change(jobs.made(job), spec).message


@pytest.mark.parametrize("sent", [None, {}, {"phase": "Failed"}], ids=str)
@pytest.mark.parametrize("stored", ["", "Running"])
def test_no_status_that_is_sent_along_lets_a_change_through(
    jobs: Jobs, stored: str, sent: Raw | None
) -> None:
    name = jobs.made(PS)
    if stored:
        jobs.set_phase(name, stored)
    said = jobs.change(name, {"worker": {"template": TEMPLATE}}, status=sent).message
    assert "Invalid value: spec.worker.template may change only while" in said


@pytest.mark.parametrize(("job", "spec"), ALLOWED_CHANGES.values(), ids=ALLOWED_CHANGES)
def test_admits_a_change(jobs: Jobs, job: Raw, spec: Raw) -> None:
    assert jobs.change(jobs.made(job), spec).message == ""


@pytest.mark.parametrize("phase", ["", "Suspended"])
@pytest.mark.parametrize("spec", HELD_CHANGES.values(), ids=HELD_CHANGES)
def test_admits_a_change_while_held(jobs: Jobs, spec: Raw, phase: str) -> None:
    name = jobs.made(PS, suspend=True)
    if phase:
        jobs.set_phase(name, phase)
    assert jobs.change(name, spec).message == ""


def test_refuses_an_image_even_while_held(jobs: Jobs) -> None:
    name = jobs.made(PS, suspend=True)
    said = jobs.change(name, {"worker": {"template": TEMPLATE}}).message
    assert "only nodeSelector, affinity" in said


def test_a_suspended_job_with_pods_is_not_held(jobs: Jobs) -> None:
    name = jobs.made(PS, suspend=True)
    jobs.set_phase(name, "Running")
    said = jobs.change(name, {"worker": {"replicas": 3}}).message
    assert "spec.worker.replicas may change only" in said


def test_a_quantity_is_no_less_fixed(jobs: Jobs) -> None:
    """Quantities have no type in the schema; the rules see them all the same."""
    name = jobs.made(bad_jobs.with_container(resources={"limits": {"cpu": 0.5}}))
    container = {"name": "paddle", "image": "i", "resources": {"limits": {"cpu": 0.7}}}
    spec = {"worker": {"template": {"spec": {"containers": [container]}}}}
    assert "spec.worker.template may change only" in jobs.change(name, spec).message
