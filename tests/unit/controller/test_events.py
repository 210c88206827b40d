"""Events: merged, bounded, and never in anyone's way."""

import io
import json
from collections.abc import Callable
from functools import partial

import pytest

from api.objects import format_time
from controller.logs import Log, build_log
from controller.work.events import (
    BUFFER_SIZE,
    DEFER_SECONDS,
    REST_SECONDS,
    SLOW_SECONDS,
    EventRecorder,
)
from reconcile.model.plan import EmitEvent, EventType
from tests.unit.controller.fakes import START, drop, reply, status
from tests.unit.controller.memory_api import MemoryApi
from tests.unit.controller.stored import a_job

JOB = a_job()


@pytest.fixture
def written() -> io.StringIO:
    """What is logged."""
    return io.StringIO()


@pytest.fixture
def log(written) -> Log:
    return build_log("json", "info", written)


def backlog(answers: int) -> Callable[[str], bool]:
    """Whether jobs wait, for so many questions."""
    left = iter(range(answers))
    return lambda _namespace: next(left, None) is not None


@pytest.fixture
def record_while(client, clock, metrics, log) -> Callable[..., EventRecorder]:
    """A recorder, and whether jobs of a namespace wait for a worker meanwhile."""
    return partial(EventRecorder, client, clock, metrics, log)


@pytest.fixture
def recorder(record_while) -> EventRecorder:
    return record_while()


def send(recorder: EventRecorder, *events: EmitEvent, job=JOB) -> None:
    """Record, and send all."""
    for event in events:
        recorder.record(job, event)
    send_recorded(recorder)


def send_recorded(recorder: EventRecorder, most: int = 10 * BUFFER_SIZE) -> None:
    for _ in range(min(most, len(recorder._notes))):
        note = recorder._next()
        assert note is not None
        recorder._deliver(note)


def event(reason: str = "Created", message: str = "made", type_: EventType = "Normal") -> EmitEvent:
    return EmitEvent(type_, reason, message)


def stored(api: MemoryApi) -> list[dict]:
    return [obj for path, obj in api.objects.items() if "/events/" in path]


def dropped(metrics, cause: str) -> float:
    text = metrics.exposition("")[0].decode()
    line = next(x for x in text.splitlines() if f'dropped_total{{cause="{cause}"}}' in x)
    return float(line.split()[-1])


def test_an_event_names_the_job_and_what_happened(api, recorder):
    send(recorder, event("PodFailed", "exit 1", "Warning"))
    (sent,) = stored(api)
    assert sent["involvedObject"]["uid"] == "job-1"
    assert (sent["type"], sent["reason"], sent["message"]) == ("Warning", "PodFailed", "exit 1")
    assert sent["count"] == 1
    assert sent["source"] == {"component": "paddlejob-operator"}


def test_the_same_again_raises_the_count(api, recorder, clock):
    send(recorder, event())
    clock.step(30)
    send(recorder, event(), event())
    (sent,) = stored(api)
    assert sent["count"] == 3
    assert sent["firstTimestamp"] < sent["lastTimestamp"]


@pytest.mark.parametrize(
    ("other", "job"),
    [
        (event(reason="x"), JOB),
        (event(message="x"), JOB),
        (event(type_="Warning"), JOB),
        (event(), a_job(uid="job-2")),
    ],
    ids=["reason", "message", "type", "namesake"],
)
def test_what_differs_is_another_event(api, recorder, other, job):
    send(recorder, event())
    send(recorder, other, job=job)
    assert len(stored(api)) == 2


def test_what_a_job_goes_through_is_one_line_each(api, recorder, written):
    send(recorder, event(), event(), event("PodFailed", "worker-0 exited 1"))
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [(line["event"], line["job"], line["reason"], line["message"]) for line in lines] == [
        ("job_event", "ns/train", "Created", "made"),
        ("job_event", "ns/train", "PodFailed", "worker-0 exited 1"),
    ]


def test_after_ten_minutes_it_is_said_anew(api, recorder, clock):
    send(recorder, event())
    clock.step(601)
    send(recorder, event())
    assert len(stored(api)) == 2


def test_an_event_that_was_cleaned_up_is_made_anew(api, recorder):
    send(recorder, event())
    api.objects.clear()
    send(recorder, event())
    assert len(stored(api)) == 1


def record_of(recorder: EventRecorder, namespace: str, *names: str, message: str = "made") -> None:
    """Record an Event of each of these jobs."""
    for name in names or ("train",):
        job = a_job(name, uid=f"{namespace}-{name}")
        job["metadata"]["namespace"] = namespace
        recorder.record(job, event(message=message))


@pytest.mark.parametrize("many", [BUFFER_SIZE - 1, BUFFER_SIZE + 5], ids=["buffered", "too many"])
def test_a_neighbours_events_are_sent_in_turn(api, recorder, metrics, many):
    record_of(recorder, "crowd", *map(str, range(many)))
    for message in ("one", "two"):
        record_of(recorder, "calm", message=message)
    send_recorded(recorder, 4)
    assert dropped(metrics, "buffer_full") == many + 2 - BUFFER_SIZE
    sent = {obj["message"] for obj in stored(api) if obj["metadata"]["namespace"] == "calm"}
    assert sent == {"one", "two"}


def test_what_is_due_does_not_wait_for_a_later_event_of_a_neighbour(api, clock, record_while):
    recorder = record_while(backlog(10**9))
    record_of(recorder, "first", "a", "b")
    clock.step(DEFER_SECONDS / 2)
    record_of(recorder, "second")
    send_recorded(recorder, 2)
    assert clock.monotonic() == pytest.approx(DEFER_SECONDS, abs=0.11)
    assert namespaces(api) == ["first", "first"]


def test_a_job_that_says_too_much_is_cut_short_and_others_are_not(api, recorder, metrics):
    send(recorder, *(event(message=str(n)) for n in range(40)))
    assert len(stored(api)) == 25
    assert dropped(metrics, "rate_limited") == 15
    send(recorder, event(), job=a_job(uid="job-2"))
    assert len(stored(api)) == 26


FAULTS = {
    "forbidden": (reply(403, status(403, "Forbidden")), 1),
    "throttled": (reply(429, status(429, "TooManyRequests"), Retry_After="3600"), 3),
    "dropped": (drop, 3),
}


@pytest.mark.parametrize(("fault", "tries"), FAULTS.values(), ids=FAULTS.keys())
def test_a_sink_that_is_down_costs_that_event_only(api, recorder, metrics, fault, tries):
    api.fault = lambda _method, _path: fault
    send(recorder, event())
    assert len(api.writes) == tries
    assert dropped(metrics, "error") == 1
    api.fault = lambda _method, _path: None
    send(recorder, event())
    assert len(stored(api)) == 1


@pytest.mark.parametrize(
    ("causes", "lines"), [((), 1), (({"reason": "NamespaceTerminating"},), 0)], ids=["", "going"]
)
def test_a_namespace_that_goes_does_not_fill_the_log(api, recorder, written, causes, lines):
    api.fault = lambda _method, _path: reply(403, status(403, "Forbidden", causes=[*causes]))
    send(recorder, event())
    assert written.getvalue().count("event_not_sent") == lines


def test_a_long_message_is_cut_to_what_the_api_server_takes(api, recorder):
    send(recorder, event(message="x" * 5000))
    assert len(stored(api)[0]["message"]) == 1024


def test_a_stop_with_a_full_buffer_ends_all_the_same(api, recorder):
    for number in range(BUFFER_SIZE):
        recorder.record(JOB, event(message=str(number)))
    recorder.stop()
    recorder.run()


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [
        pytest.param(0, 0.0, id="nobody waits"),
        pytest.param(3, 0.3, id="until none waits"),
        pytest.param(10_000, DEFER_SECONDS, id="not for ever"),
    ],
)
def test_an_event_is_deferred_while_jobs_wait(api, clock, record_while, looks, seconds):
    send(record_while(backlog(looks)), event())
    (sent,) = stored(api)
    assert clock.monotonic() == pytest.approx(seconds, abs=0.11)
    assert sent["firstTimestamp"] == format_time(START)  # when it was recorded


def test_a_buffer_that_fills_defers_nothing(api, record_while):
    sent_when_asked = []

    def is_backlogged(_namespace: str) -> bool:
        sent_when_asked.append(len(stored(api)))
        return True

    recorder = record_while(is_backlogged)
    send(recorder, *(event(message=str(number)) for number in range(BUFFER_SIZE // 2 + 1)))
    assert sent_when_asked[0] > 0


def test_a_backlog_of_one_namespace_defers_no_events_of_another(api, clock, record_while):
    recorder = record_while(lambda namespace: namespace == "crowd")
    record_of(recorder, "crowd")
    record_of(recorder, "calm")
    send_recorded(recorder, 1)
    assert clock.monotonic() == 0
    assert namespaces(api) == ["calm"]


# Writes that take long


@pytest.fixture
def hung(api, clock) -> MemoryApi:
    """Writes of the namespace "slow" take long to fail."""

    def fault(_method: str, path: str):
        if "/namespaces/slow/" not in path:
            return None
        clock.step(SLOW_SECONDS)
        return reply(500, status(500, "InternalError", "failed calling webhook"))

    api.fault = fault
    return api


def namespaces(api: MemoryApi) -> list[str]:
    return [obj["metadata"]["namespace"] for obj in stored(api)]


def test_a_namespace_whose_events_hang_holds_up_no_other(hung, recorder, clock):
    record_of(recorder, "slow", *"abc")
    record_of(recorder, "calm", *"abc")
    send_recorded(recorder, 4)
    assert namespaces(hung) == ["calm"] * 3
    assert clock.monotonic() == SLOW_SECONDS  # one try in all


def test_a_namespace_whose_events_hung_has_its_turn_again(hung, recorder, clock):
    record_of(recorder, "slow", *"ab")
    send_recorded(recorder, 1)
    hung.fault = lambda *_: None
    send_recorded(recorder)
    assert namespaces(hung) == ["slow"]
    assert clock.monotonic() == pytest.approx(SLOW_SECONDS + REST_SECONDS, abs=0.11)


def test_a_stop_waits_for_no_namespace_whose_events_hang(hung, recorder, clock):
    record_of(recorder, "slow", *"ab")
    record_of(recorder, "calm", *"ab")
    recorder.stop()
    recorder.run()
    assert namespaces(hung) == ["calm"] * 2
    assert clock.monotonic() == SLOW_SECONDS


def test_a_stop_ends_the_deferring(api, clock, record_while):
    recorder = record_while(backlog(10**9))
    recorder.record(JOB, event())
    recorder.stop()
    recorder.run()
    assert len(stored(api)) == 1
    assert not clock.waits
