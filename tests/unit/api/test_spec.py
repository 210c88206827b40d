"""A spec as the operator reads it: defaults, old names, bounds and the mode."""

from typing import Any

import pytest

from api.constants import CleanPodPolicy, Intranet, Mode, Role
from api.spec import SchedulingPolicy, parse_spec
from api.training import Resume, StallPolicy
from tests.memory.builders import JobBuilder, a_job, a_template

TEMPLATE = a_template()


def parse(**fields: Any) -> Any:
    return parse_spec(fields)


def of(job: JobBuilder) -> Any:
    return parse_spec(job.build()["spec"])


NO_POLICY = SchedulingPolicy(None, "", "", None)
POLICY: Any = {
    "minAvailable": 2,
    "queue": "q",
    "priorityClass": "high",
    "minResources": {"cpu": "4"},
}
ELSEWHERE = "kueue.x-k8s.io/multikueue"
FIELDS: list[tuple[str, str, Any, Any, Any]] = [
    ("withGloo", "with_gloo", 1, 2, 2),
    ("withGloo", "with_gloo", 1, 0, 0),
    ("cleanPodPolicy", "clean_pod_policy", None, "Never", CleanPodPolicy.NEVER),
    ("intranet", "intranet", Intranet.POD_IP, "Service", Intranet.SERVICE),
    ("schedulingPolicy", "scheduling_policy", None, {}, NO_POLICY),
    ("schedulingPolicy", "scheduling_policy", None, dict.fromkeys(POLICY), NO_POLICY),
    ("schedulingPolicy", "scheduling_policy", None, POLICY, SchedulingPolicy(*POLICY.values())),
    ("elastic", "elastic", 0, 1, 1),
    ("backoffLimit", "backoff_limit", None, 3, 3),
    ("backoffLimit", "backoff_limit", None, 0, 0),
    ("podFailurePolicy", "pod_failure_policy", None, {"rules": []}, {"rules": []}),
    ("activeDeadlineSeconds", "active_deadline_seconds", None, 60, 60),
    ("activeDeadlineSeconds", "active_deadline_seconds", None, 0, 0),
    ("startingDeadlineSeconds", "starting_deadline_seconds", None, 61, 61),
    ("ttlSecondsAfterFinished", "ttl_seconds_after_finished", None, 62, 62),
    ("ttlSecondsAfterFinished", "ttl_seconds_after_finished", None, 0, 0),
    ("suspend", "suspend", False, True, True),
    ("managedBy", "managed_by", "", ELSEWHERE, ELSEWHERE),
    ("stallPolicy", "stall_policy", None, {}, StallPolicy(900, 3600)),
    ("stallPolicy", "stall_policy", None, {"afterSeconds": 120}, StallPolicy(120, 480)),
    ("resume", "resume", None, "Paddle", Resume.PADDLE),
]


@pytest.mark.parametrize(("field", "name", "default", "given", "read"), FIELDS)
def test_a_set_field_is_read_and_one_that_is_unset_or_null_has_its_default(
    field: str, name: str, default: Any, given: Any, read: Any
) -> None:
    assert getattr(parse(), name) == default
    assert getattr(parse(**{field: None}), name) == default
    assert getattr(parse(**{field: given}), name) == read


CLEANING = {
    "old name": ({"cleanPolicy": "Always"}, CleanPodPolicy.ALWAYS),
    "both": ({"cleanPolicy": "Always", "cleanPodPolicy": "Never"}, CleanPodPolicy.NEVER),
    "new name empty": ({"cleanPolicy": "Always", "cleanPodPolicy": ""}, CleanPodPolicy.ALWAYS),
}


@pytest.mark.parametrize(("fields", "policy"), CLEANING.values(), ids=CLEANING)
def test_clean_policy_is_the_old_name_of_clean_pod_policy(fields, policy):
    assert parse(**fields).clean_pod_policy == policy


# Roles


def test_roles_are_in_the_order_in_which_they_are_created() -> None:
    role = {"replicas": 1, "template": TEMPLATE}
    assert list(parse(heter=role, worker=role, ps=role).roles) == [Role.PS, Role.WORKER, Role.HETER]
    assert list(parse(heter=None, worker=role, ps=None).roles) == [Role.WORKER]


def test_an_empty_role_has_one_replica_of_an_empty_template() -> None:
    worker = parse(worker={}).roles[Role.WORKER]
    assert (worker.replicas, worker.pod_spec) == (1, {})


def test_a_role_may_have_no_replicas() -> None:
    assert parse(worker={"replicas": 0}).roles[Role.WORKER].replicas == 0


@pytest.mark.parametrize("template", [None, {}, {"spec": None}], ids=["null", "empty", "no spec"])
def test_a_template_without_a_pod_spec_has_an_empty_one(template: Any) -> None:
    assert parse(worker={"template": template}).roles[Role.WORKER].pod_spec == {}


BOUNDS = {
    "unset": ({}, (3, 3)),
    "both": ({"requests": 1, "limits": 5}, (1, 5)),
    "from zero": ({"requests": 0}, (0, 3)),
    "up only": ({"limits": 5}, (3, 5)),
}


@pytest.mark.parametrize(("fields", "bounds"), BOUNDS.values(), ids=BOUNDS)
def test_a_bound_that_is_unset_is_the_number_of_replicas(fields, bounds):
    worker = parse(worker={"replicas": 3, **fields}).roles[Role.WORKER]
    assert (worker.least, worker.most) == bounds


def test_all_roles_count_to_the_total() -> None:
    assert of(a_job().with_ps(2).with_workers(3).with_heter(4)).total_replicas == 9


# What follows from several fields

MODES = {
    "one worker": (a_job().with_workers(1), Mode.SINGLE),
    "no role": (a_job(), Mode.SINGLE),
    "no worker": (a_job().with_workers(0), Mode.SINGLE),
    "workers": (a_job().with_workers(2), Mode.COLLECTIVE),
    "one that may become several": (a_job().with_elastic_workers(1, 1, 3), Mode.COLLECTIVE),
    "several that may become one": (a_job().with_elastic_workers(2, 1, 1), Mode.COLLECTIVE),
    "servers": (a_job().with_ps(1).with_workers(1), Mode.PS),
    "servers alone": (a_job().with_ps(1), Mode.PS),
    "heter": (a_job().with_ps(1).with_workers(1).with_heter(1), Mode.HETER),
    "heter without servers": (a_job().with_workers(2).with_heter(1), Mode.HETER),
}


@pytest.mark.parametrize(("job", "mode"), MODES.values(), ids=MODES)
def test_the_roles_tell_the_mode(job: JobBuilder, mode: Mode) -> None:
    assert of(job).mode == mode


@pytest.mark.parametrize(("level", "is_elastic"), [(None, False), (0, False), (1, True), (2, True)])
def test_a_job_is_elastic_from_level_one(level: int | None, is_elastic: bool) -> None:
    assert parse(elastic=level).is_elastic == is_elastic
