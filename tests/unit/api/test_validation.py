"""The operator refuses what the API server's rules refuse, and what these cannot see."""

from typing import Any

import pytest

from api.validation import validate_job
from tests.memory import bad_jobs
from tests.memory.bad_jobs import BadJob
from tests.memory.builders import JobBuilder, a_job, a_template

GOOD: dict[str, Any] = {
    "single": a_job().with_workers(1),
    "collective": a_job().with_workers(4),
    "ps": a_job().with_ps(2).with_workers(2),
    "heter": a_job().with_ps(1).with_workers(1).with_heter(1),
    "elastic": a_job().with_elastic_workers(2, 1, 3),
    "longest-name": a_job("a" * 54).with_workers(10),
    "most-pods": a_job().with_ps(1000).with_workers(9000),
    "clean-policies-agree": a_job()
    .with_workers(1)
    .with_spec(cleanPodPolicy="Never", cleanPolicy="Never"),
    "min-available": a_job().with_workers(2).with_spec(schedulingPolicy={"minAvailable": 2}),
    "no-queue": a_job().with_workers(2).with_spec(schedulingPolicy={}),
    "one-scheduler": a_job().with_ps(1).with_workers(1, a_template(schedulerName="volcano")),
    "in-place-restarts": a_job().with_workers(1, a_template(restartPolicy="OnFailure")),
    "same-restart-policy-of-the-trainer": bad_jobs.with_container(restartPolicy="Never"),
    "restarts-of-a-sidecar": bad_jobs.with_pod(
        containers=[
            {"name": "paddle", "image": "i"},
            {
                "name": "logs",
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart"}],
            },
        ],
        initContainers=[{"name": "native", "restartPolicy": "Always"}],
    ),
    "unset-restart-policy": a_job().with_workers(1, a_template(restartPolicy=None)),
    "failure-policy": a_job()
    .with_workers(1)
    .with_spec(
        podFailurePolicy={
            "rules": [
                {
                    "action": "FailJob",
                    "onExitCodes": {"containerName": "paddle", "operator": "In", "values": [3]},
                },
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            ]
        }
    ),
    **{f"port-{port}": bad_jobs.with_port(port, port) for port in ("30236", "1", "65516")},
    "port-of-a-sidecar": bad_jobs.with_pod(
        containers=[
            {"name": "side", "env": [{"name": "PADDLE_PORT", "value": "any"}]},
            {"name": "paddle", "image": "i"},
        ]
    ),
}
REFUSED = {
    "two-at-once": (
        a_job("1st").with_ps(1).with_workers(1).with_spec(elastic=1).build(),
        {"metadata.name", "spec.elastic"},
    ),
    "no-workers": (a_job().with_ps(1).build(), {"spec.worker"}),
    "no-containers": (
        bad_jobs.with_pod(containers=[]),
        {"spec.worker.template.spec.containers"},
    ),
}


@pytest.mark.parametrize("bad", [*bad_jobs.rules(), *bad_jobs.python_only()], ids=str)
def test_refuses(bad: BadJob) -> None:
    errors = validate_job(bad.job)
    assert errors
    for error in errors:
        assert bad.field in error.path
        assert bad.says in error.message or bad.says == "RFC 1123"


@pytest.mark.parametrize("job", GOOD.values(), ids=GOOD)
def test_accepts(job: Any) -> None:
    assert validate_job(job.build() if isinstance(job, JobBuilder) else job) == []


@pytest.mark.parametrize(("job", "paths"), REFUSED.values(), ids=REFUSED)
def test_says_all_that_is_wrong(job: Any, paths: set[str]) -> None:
    assert {error.path for error in validate_job(job)} == paths


@pytest.mark.parametrize("replicas", [0, -1, 10**9])
def test_bounds_replicas_where_no_schema_does(replicas: int) -> None:
    errors = validate_job(bad_jobs.with_worker(replicas=replicas))
    assert any("from 1 to" in error.message for error in errors)
