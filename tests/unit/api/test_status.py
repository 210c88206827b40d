"""Status as memory: what is written is read again, and a patch says what changed and no more."""

from dataclasses import fields, replace
from typing import Any

import pytest

from api.constants import Role
from api.status import (
    MAX_FAILURES,
    MAX_MESSAGE_CHARACTERS,
    Failure,
    JobCondition,
    JobStatus,
    RoleStatus,
    Waiting,
    diff_status,
    dump_status,
    new_condition,
    parse_status,
)
from api.training import Metric, SavedCheckpoint, TrainingProgress
from tests.memory.builders import NOW, at, stamp
from tests.memory.world import merge

RUNNING = JobCondition("Running", True, "AllPodsRun", "all", stamp(1), 2)
PENDING = JobCondition("Pending", False, "PodsRun", "", stamp(2), 2)
EVICTED = Failure(1, "train-ps-0", "ps", 0, "", None, None, "Evicted", "disk", stamp(3))
KILLED = Failure(2, "train-worker-1", "worker", 1, "node-1", 137, 9, "OOMKilled", "", stamp(4))
FULL = JobStatus(
    phase="Running",
    mode="PS",
    reason="AllPodsRun",
    message="all",
    conditions=(RUNNING, PENDING),
    waiting=Waiting("full", "ask for less", "a", "ErrImagePull", "--grace", stamp(1)),
    observed_generation=2,
    start_time=stamp(0),
    completion_time=stamp(9),
    attempt=3,
    restart_count=4,
    quick_restarts=2,
    fruitless_restarts=1,
    restarted_at="2026-01-02T03:04:05Z",
    failure_count=5,
    failures=(EVICTED, KILLED),
    avoid_nodes=("node-1", "node-2"),
    lost_since="2026-01-02T03:04:06Z",
    lost_reason="PodFailed",
    lost_seconds=70,
    progress=TrainingProgress(
        attempt=3,
        step=0,
        total_steps=40000,
        percent=0,
        epoch="3/500",
        metrics=(Metric("loss", "2.31"),),
        samples_per_second="268",
        estimated_end_time=stamp(9000),
        checkpoint=SavedCheckpoint(1000, "out/checkpoint-1000", stamp(3)),
        last_output_time=stamp(5),
        last_step_time=stamp(4),
        silent_seconds=10,
        stepless_seconds=20,
        quiet_until=stamp(600),
    ),
    resume_step=1000,
    given_back=2,
    given_back_at="2026-01-02T03:04:07Z",
    pod_group="train-0123abcd",
    host_ports={"worker-0": 35000},
    selector="a=b",
    replicas=6,
    roles={
        Role.PS: RoleStatus(1, 2, 3, 4, 5, 6, 7, "0-2"),
        Role.WORKER: RoleStatus(replicas=2),
    },
)


def test_the_full_status_has_every_field_set() -> None:
    """Or the tests that use it would miss the new one."""
    assert not [f.name for f in fields(JobStatus) if not getattr(FULL, f.name)]


def test_what_is_written_is_read_again() -> None:
    assert parse_status(dump_status(FULL)) == FULL


@pytest.mark.parametrize("raw", [None, {}], ids=["absent", "empty"])
def test_no_status_is_the_empty_status(raw: Any) -> None:
    assert parse_status(raw) == JobStatus()


def test_of_an_empty_status_only_the_count_for_the_scale_subresource_is_written() -> None:
    assert dump_status(JobStatus()) == {"replicas": 0}


@pytest.mark.parametrize("name", [f.name for f in fields(JobStatus) if f.name != "replicas"])
def test_a_field_that_is_empty_is_left_out(name: str) -> None:
    empty = getattr(JobStatus(), name)
    gone = set(dump_status(FULL)) - set(dump_status(replace(FULL, **{name: empty})))
    assert gone == ({"ps", "worker"} if name == "roles" else {_camel(name)})


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def test_a_status_of_another_writer_is_read_without_what_it_left_out() -> None:
    status = parse_status({"conditions": [{"type": "Own", "status": "Unknown"}], "failures": [{}]})
    assert status.conditions == (JobCondition("Own", False, "", "", "", 0),)
    assert status.failures == (Failure(0, "", "", 0, "", None, None, "", "", ""),)


def test_a_failure_without_an_exit_says_no_exit_code() -> None:
    evicted, killed = dump_status(FULL)["failures"]
    assert ("exitCode" in evicted, "signal" in evicted) == (False, False)
    assert (killed["exitCode"], killed["signal"]) == (137, 9)
    status = JobStatus(failures=(replace(KILLED, exit_code=0),))
    assert dump_status(status)["failures"][0]["exitCode"] == 0


# The patch

CHANGES = {
    "from nothing": (JobStatus(), FULL),
    "to nothing": (FULL, JobStatus()),
    "a count to zero": (FULL, replace(FULL, failure_count=0, replicas=0)),
    "a role's count": (FULL, replace(FULL, roles={**FULL.roles, Role.PS: RoleStatus(1)})),
    "a role gone": (FULL, replace(FULL, roles={Role.PS: FULL.roles[Role.PS]})),
    "a port gone": (
        replace(FULL, host_ports={"worker-0": 1, "worker-1": 2}),
        replace(FULL, host_ports={"worker-1": 3}),
    ),
    "a condition less": (FULL, replace(FULL, conditions=(PENDING,))),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_the_patch_makes_the_stored_status_the_new_one(old: JobStatus, new: JobStatus) -> None:
    patch = diff_status(dump_status(old), new)
    assert patch is not None
    assert merge({"status": dump_status(old)}, patch) == {"status": dump_status(new)}


STORED = dump_status(FULL)
PATCHES: dict[str, tuple[Any, JobStatus, Any]] = {
    "one word": (STORED, replace(FULL, phase="Failed"), {"phase": "Failed"}),
    "one count of a role": (
        STORED,
        replace(FULL, roles={**FULL.roles, Role.WORKER: RoleStatus(replicas=2, pending=1)}),
        {"worker": {"pending": 1}},
    ),
    "what is gone": (STORED, replace(FULL, pod_group=""), {"podGroup": None}),
    "a whole list": (STORED, replace(FULL, avoid_nodes=("node-2",)), {"avoidNodes": ["node-2"]}),
    "a field that nobody knows": (STORED | {"unknown": 1}, FULL, {"unknown": None}),
    "a job without a status": (
        None,
        JobStatus(phase="Pending"),
        {"phase": "Pending", "replicas": 0},
    ),
    "nothing": (STORED, FULL, None),
    "nothing of nothing": ({"replicas": 0}, JobStatus(), None),
}


@pytest.mark.parametrize(("stored", "new", "changes"), PATCHES.values(), ids=PATCHES)
def test_the_patch_holds_what_changed_and_no_more(stored, new, changes):
    assert diff_status(stored, new) == (changes and {"status": changes})


# Conditions


@pytest.mark.parametrize(
    ("was", "becomes", "since"),
    [(True, True, 0), (False, False, 0), (True, False, 5), (False, True, 5)],
    ids=["stays true", "stays false", "becomes false", "becomes true"],
)
def test_the_transition_time_changes_when_the_status_flips(was, becomes, since):
    status = JobStatus().with_condition(new_condition("Running", was, "R", "m", NOW))
    status = status.with_condition(new_condition("Running", becomes, "S", "n", at(5)))
    assert status.conditions == (JobCondition("Running", becomes, "S", "n", stamp(since), 0),)


@pytest.mark.parametrize("is_true", [True, False])
def test_a_condition_keeps_its_place_and_the_others_and_a_new_one_comes_last(is_true: bool) -> None:
    status = FULL.with_condition(new_condition("Running", is_true, "New", "news", NOW))
    status = status.with_condition(new_condition("Failed", True, "R", "", NOW))
    assert [c.type for c in status.conditions] == ["Running", "Pending", "Failed"]
    assert (status.conditions[0].reason, status.conditions[0].message) == ("New", "news")
    assert status.conditions[1] == PENDING
    assert FULL.conditions == (RUNNING, PENDING)
    assert FULL.condition("Failed") is None


def test_a_message_is_cut() -> None:
    status = JobStatus().with_condition(new_condition("Failed", True, "R", "x" * 5000, NOW))
    assert status.conditions[0].message == "x" * MAX_MESSAGE_CHARACTERS


# Failures


def test_only_the_latest_failures_are_kept() -> None:
    status = JobStatus()
    for attempt in range(1, MAX_FAILURES + 3):
        status = status.with_failure(replace(KILLED, attempt=attempt))
    assert [f.attempt for f in status.failures] == list(range(3, MAX_FAILURES + 3))
