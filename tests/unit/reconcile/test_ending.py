"""What is said of a pod's end: the sentence of a condition, and the message of a record."""

from typing import Any

import pytest

from api.constants import Reason
from api.status import MAX_MESSAGE_CHARACTERS
from reconcile.failure.ending import (
    MAX_RECORD_CHARACTERS,
    describe_end,
    describe_record,
    record_words,
)
from reconcile.failure.incident import Incident, build_failure
from reconcile.model.view import View
from tests.memory.builders import PodBuilder, a_job, a_pod, a_template, view_of
from tests.memory.logs import ORDERS, detected, launched, raised

JOB = a_job().with_workers(1).build()
DETECTED = "FatalError: `Segmentation fault` is detected by the operating system."
SEGMENTATION = detected("Segmentation fault", "SIGSEGV")
NO_MODULE = "ModuleNotFoundError: No module named 'einops'"
RUNC = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc "
    'create failed: unable to start container process: exec: "pythonn": executable file not found '
    "in $PATH: unknown"
)
OFTEN = "was ended by SIGKILL (often out of memory)"
ENDS: dict[str, tuple[int, dict[str, Any], str]] = {
    "exit": (3, {}, "exited with code 3"),
    "said": (1, {"message": raised(NO_MODULE)}, f"exited with code 1: {NO_MODULE}"),
    "written": (6, {"message": "no luck\n"}, "exited with code 6: no luck"),
    "killed": (137, {"message": "epoch 1\nKilled\n"}, OFTEN),
    "killed-launcher": (
        247,
        {"message": launched("epoch 1\n", -9)},
        f"exited with code 247: one of its processes {OFTEN}",
    ),
    "segmentation": (139, {"message": SEGMENTATION}, f"was ended by SIGSEGV: {DETECTED}"),
    "segmentation-launcher": (
        245,
        {"message": launched(SEGMENTATION, -11)},
        f"exited with code 245: one of its processes was ended by SIGSEGV: {DETECTED}",
    ),
    "aborted-quietly": (134, {"message": "epoch 1\n"}, "was ended by SIGABRT"),
    "interrupted": (
        130,
        {"message": raised("KeyboardInterrupt")},
        "was ended by SIGINT: KeyboardInterrupt",
    ),
    "environment-alone": (
        1,
        {"message": f"S', 'LIST': '{'a' * 2000}'}}\n"},
        "exited with code 1: its node kept only what PaddlePaddle's launcher wrote; the pod's log "
        "has the cause: kubectl -n default logs train-worker-0 -c paddle",
    ),
    "minus-one": (255, {}, "exited with code 255"),
    "no-signal": (200, {}, "exited with code 200"),
    "real-time": (128 + 34, {}, "was ended by signal 34"),
    "oom": (137, {"reason": "OOMKilled"}, "ran out of memory (OOMKilled)"),
    "oom-of-a-child": (
        1,
        {"reason": "OOMKilled", "message": raised("RuntimeError: a reader is gone")},
        "ran out of memory (OOMKilled): RuntimeError: a reader is gone",
    ),
    "oom-under-the-launcher": (
        247,
        {"reason": "OOMKilled", "message": launched("epoch 1\n", -9)},
        "ran out of memory (OOMKilled)",
    ),
    "told-to-end-long-after-an-oom-of-a-child": (
        143,
        {"reason": "OOMKilled"},
        "was ended by SIGTERM",
    ),
    "not-started": (
        128,
        {"reason": "StartError", "message": RUNC},
        'failed with StartError: exec: "pythonn": executable file not found in $PATH',
    ),
    "lost": (
        137,
        {"reason": "ContainerStatusUnknown", "message": "could not be located"},
        "failed with ContainerStatusUnknown: could not be located",
    ),
}


def of(code: int, fields: dict[str, Any], **template: Any) -> tuple[View, str, str]:
    """The view of a job whose worker has ended so, the sentence, and the record's message."""
    job = a_job().with_workers(1, a_template(**template)).build() if template else JOB
    view = view_of(job, a_pod(job).ended(code, **fields))
    pod = view.pods["train-worker-0"]
    return view, describe_end(view, pod), record_words(view, pod)[0]


@pytest.mark.parametrize("name", ENDS)
def test_end_is_told_in_one_sentence_also_once_the_pod_is_gone(name):
    code, fields, text = ENDS[name]
    view, sentence, _ = of(code, fields)
    assert sentence == f"train-worker-0 on node-1 {text}"
    incident = Incident(Reason.POD_FAILED, sentence, True, pod=view.pods["train-worker-0"])
    assert describe_record(build_failure(view, incident)) == sentence


@pytest.mark.parametrize("name", [name for name in ENDS if "message" in ENDS[name][1]])
def test_record_begins_with_what_says_why(name):
    code, fields, text = ENDS[name]
    first = of(code, fields)[2].splitlines()[0]
    assert first in (text, text.removeprefix(f"exited with code {code}: "))
    says_why_itself = {"said", "written", "environment-alone"}
    assert (first == text) == (name not in says_why_itself)


@pytest.mark.parametrize("name", [name for name in ENDS if "message" not in ENDS[name][1]])
def test_record_of_a_pod_without_a_log_says_how_it_ended(name):
    code, fields, text = ENDS[name]
    assert of(code, fields)[2] == text


def test_record_of_a_pod_that_the_cluster_ended_says_so():
    view, _, _ = of(137, {})
    pod = view.pods["train-worker-0"]
    record = build_failure(view, Incident(Reason.POD_EVICTED, "it was evicted", False, pod=pod))
    assert record.message == "it was evicted"
    incident = Incident(Reason.POD_EVICTED, "x" * 9000, False, pod=pod)
    assert len(build_failure(view, incident).message) == MAX_RECORD_CHARACTERS


def test_record_goes_on_with_the_lines_before():
    log = f"epoch 1\n{raised(NO_MODULE)}"
    before = log.removesuffix(f"{NO_MODULE}\n").strip()
    assert of(1, {"message": log})[2] == f"{NO_MODULE}\n{before}"
    assert of(137, {"message": "epoch 1\nepoch 2\n"})[2] == f"{OFTEN}\nepoch 1\nepoch 2"


@pytest.mark.parametrize("order", ORDERS)
def test_record_under_the_launcher_is_that_of_the_program_alone(order):
    log = raised(NO_MODULE)
    assert of(1, {"message": launched(log, 1, order)})[2] == of(1, {"message": log})[2]


@pytest.mark.parametrize("message", ["x" * 4096, "x\n" * 2048, f"ValueError: {'y' * 3000}\nz\n"])
def test_words_are_bounded(message):
    _, sentence, record = of(1, {"message": message})
    assert len(record) <= 1024
    assert len(sentence) <= MAX_MESSAGE_CHARACTERS


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        pytest.param(137, "OOMKilled", "ran out of memory (OOMKilled, limit 2Gi)", id="oom"),
        pytest.param(
            137, "Error", "was ended by SIGKILL (often out of memory, limit 2Gi)", id="killed"
        ),
    ],
)
def test_limit_of_memory_is_told(code, reason, text):
    limited = {"name": "paddle", "image": "x", "resources": {"limits": {"memory": "2Gi"}}}
    sentence = of(code, {"reason": reason}, containers=[limited])[1]
    assert sentence.endswith(text)


@pytest.mark.parametrize(
    ("limits", "text"), [({"memory": "8Gi"}, "(OOMKilled, limit 8Gi)"), ({}, "(OOMKilled)")]
)
def test_limit_of_memory_is_that_of_the_pod(limits, text):
    """An admission webhook or a resize in place can have changed it."""
    limited = {"name": "paddle", "image": "x", "resources": {"limits": {"memory": "2Gi"}}}
    job = a_job().with_workers(1, a_template(containers=[limited])).build()
    pod = a_pod(job).ended(137, reason="OOMKilled")
    (status,) = pod.build()["status"]["containerStatuses"]
    pod.with_status(containerStatuses=[status | {"resources": {"limits": limits}}])
    view = view_of(job, pod)
    assert describe_end(view, view.pods["train-worker-0"]).endswith(text)


def test_a_pod_that_its_node_ended_has_the_nodes_words():
    pod = a_pod(JOB).bound().with_status(phase="Failed", reason="Evicted", message="disk")
    view = view_of(JOB, pod)
    sentence = describe_end(view, view.pods["train-worker-0"])
    assert sentence == "train-worker-0 on node-1 failed: Evicted: disk"


@pytest.mark.parametrize(
    ("others", "text"),
    [(0, "code 1: boom"), (1, "code 1, and 1 other failed, too: boom"),
     (3, "code 1, and 3 others failed, too: boom")],
)  # fmt: skip
def test_those_that_failed_after_it_are_counted(others, text):
    view = view_of(JOB, a_pod(JOB).ended(1, message="boom"))
    assert describe_end(view, view.pods["train-worker-0"], others).endswith(text)


def test_an_init_containers_limit_is_its_own():
    init = {"name": "fetch", "image": "x", "resources": {"limits": {"memory": "1Gi"}}}
    job = a_job().with_workers(1, a_template(initContainers=[init])).build()
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    pod: PodBuilder = a_pod(job).bound().with_status(phase="Failed")
    view = view_of(job, pod.with_init_container("fetch", ended))
    assert "limit 1Gi" in describe_end(view, view.pods["train-worker-0"])
