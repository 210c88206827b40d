"""`logs -f` loses no line and repeats none, from before the job and over restarts of all kinds."""

import collections
import re
from pathlib import Path

import pytest

from pdj.act.follow import KEEP
from tests.live import patience
from tests.live.faulty import SLOW_TO_STOP
from tests.live.lab import SERVER, Lab, Raw, paddle_job, shell
from tests.live.operated import DEPLOYMENT, NAMESPACE
from tests.live.pdj import CHECKOUT, Tool

PODS = 4
LINES = 2_000
A_SECOND = 1_000
TALK = f"""
import os, sys, time
begun = time.monotonic()
attempt, name = os.environ["ATTEMPT"], os.environ["POD"]
for number in range({LINES}):
    print(attempt, name, number, flush=True)
    ahead = begun + number / {A_SECOND} - time.monotonic()
    if ahead > 0:
        time.sleep(ahead)
open("/finished/" + attempt + name, "w").close()
if attempt == "1":
    while not name.endswith("-2") or len(os.listdir("/finished")) < {PODS}:
        time.sleep(0.1)
    time.sleep(20)
    sys.exit(3)
"""
ATTEMPT = "metadata.labels['batch.paddlepaddle.org/attempt']"


def talkers(folder: Path) -> Raw:
    """Workers that say their lines, and leave a file in the folder when they have; the third then
    ends the first attempt.
    """
    fields = {"ATTEMPT": ATTEMPT, "POD": "metadata.name"}
    env = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in fields.items()
    ]
    mounts = [{"name": "finished", "mountPath": "/finished"}]
    template = shell(
        "", command=["python3", "-c", TALK], env=env, image="python", volumeMounts=mounts
    )
    template["spec"]["volumes"] = [{"name": "finished", "hostPath": {"path": str(folder)}}]
    return paddle_job("talk", {"worker": (PODS, template)}, backoffLimit=1)


@pytest.fixture(scope="module")
def followed(
    module_lab: Lab, tool: Tool, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, str, str]:
    """Exit code and output of a follower that began before the job, with a restarted operator."""
    follower = tool.start("logs", "talk", "--follow")
    module_lab.submit(talkers(tmp_path_factory.mktemp("finished")))
    module_lab.wait_phase("talk", "Running")
    module_lab.kubectl("-n", NAMESPACE, "rollout", "restart", f"deployment/{DEPLOYMENT}")
    out, notes = follower.communicate(timeout=patience.SECONDS)
    return follower.returncode, out.decode(), notes.decode()


def said(out: str) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    for line in out.splitlines():
        attempt, pod, number = line.partition(" | ")[2].split()
        found[(attempt, pod)].append(int(number))
    return found


def test_every_line_comes_once_and_in_its_pods_order(followed: tuple[int, str, str]) -> None:
    found = said(followed[1])
    pods = [f"talk-worker-{index}" for index in range(PODS)]
    assert sorted(found) == [(attempt, pod) for attempt in "12" for pod in pods]
    for key, numbers in found.items():
        assert numbers == list(range(LINES)), key


def test_it_ends_with_the_job_and_its_result(followed: tuple[int, str, str]) -> None:
    code, _, notes = followed
    assert code == 0
    assert "attempt 1 has ended: PodFailed" in notes
    assert notes.endswith("--- talk Completed: WorkersSucceeded: 4 workers ended well\n")


def test_log_is_there_after_the_end_and_nothing_runs(module_lab: Lab, tool: Tool) -> None:
    """The workers have a native sidecar, which their kubelet stops after they have ended."""
    proxy = shell(SLOW_TO_STOP, name="proxy", restartPolicy="Always")["spec"]["containers"]
    worker = shell("echo trained")
    worker["spec"]["initContainers"] = proxy
    module_lab.submit(paddle_job("kept", {"ps": (1, SERVER), "worker": (2, worker)}))
    status = module_lab.wait_completed("kept")
    workers = ["kept-worker-0", "kept-worker-1"]
    ended = [(name, "Succeeded") for name in workers]
    module_lab.wait(lambda: phases(module_lab, "kept") == ended, "the workers alone are left")
    found = sorted(tool.ok("logs", "kept").splitlines())
    assert found == ["worker-0 | trained", "worker-1 | trained"]
    module_lab.kubectl("delete", "pod", *workers)  # as Kubernetes does where there are too many
    module_lab.submit(paddle_job("later", {"worker": (1, shell("true"))}))
    module_lab.wait_completed("later")
    assert {**status, "ps": module_lab.status("kept")["ps"]} == module_lab.status("kept")


def phases(lab: Lab, job: str) -> list[tuple[str, str]]:
    return [(pod["metadata"]["name"], pod["status"].get("phase", "")) for pod in lab.pods(job)]


def test_lines_of_all_pods_are_in_order_of_time(module_lab: Lab, tool: Tool) -> None:
    script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done"
    job = paddle_job("tick", {"worker": (2, shell(script))})
    module_lab.submit(job)
    module_lab.wait_completed("tick")
    times = [
        line.partition(" | ")[2].split()[0]
        for line in tool.ok("logs", "tick", "--timestamps").splitlines()
    ]
    assert len(times) == 12
    assert times == sorted(times)


def test_choices_of_pods_and_lines(module_lab: Lab, tool: Tool) -> None:
    script = "for i in 1 2 3; do echo $POD $i; done"
    env = [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    job = paddle_job("few", {"worker": (2, shell(script, env=env))})
    module_lab.submit(job)
    module_lab.wait_completed("few")
    chosen = tool.ok("logs", "few", "--role", "worker", "--index", "1", "--no-prefix")
    assert chosen.splitlines() == [f"few-worker-1 {number}" for number in (1, 2, 3)]
    assert tool.ok("logs", "few", "--tail", "1", "--index", "0") == "worker-0 | few-worker-0 3\n"
    none = tool.run("logs", "few", "--attempt", "2")
    assert (none.code, none.out) == (1, "")
    assert "the pods are of attempt 1: worker-0, worker-1" in none.notes


def test_of_an_ended_attempt_come_the_last_lines_and_why_no_more(module_lab, tool):
    script = "echo said by $(PADDLE_JOB_NAME)/$(PADDLE_RENDEZVOUS)-$(PADDLE_TRAINER_ID); "
    script += "[ $(PADDLE_RENDEZVOUS) = 1 ] && exit 3; exec sleep 3600"
    module_lab.submit(paddle_job("twice", {"worker": (1, shell(script))}, backoffLimit=1))
    module_lab.wait(
        lambda: "said by twice/2-0" in tool.run("logs", "twice").out, "the second attempt runs"
    )
    first = tool.run("logs", "twice", "--attempt", "1")
    assert (first.code, "said by twice/1-0" in first.out) == (0, True)
    assert "the pods of attempt 1 and their logs are gone" in first.notes
    assert KEEP in first.notes
    page, _, anchor = KEEP.partition("#")
    headings = re.findall(r"^#+ (.+)$", (CHECKOUT / page).read_text(), re.MULTILINE)
    assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def test_hostile_lines_stay_text(module_lab: Lab, tool: Tool) -> None:
    line = r"b'\x1b[2J\xff\xe2\x80\xae' + b'x' * 10_000_000 + b'\n'"
    write = f"import sys; sys.stdout.buffer.write({line})"
    template = shell("", command=["python3", "-c", write], image="python")
    module_lab.submit(paddle_job("evil", {"worker": (1, template)}))
    module_lab.wait_completed("evil")
    out = tool.ok("logs", "evil", "--no-prefix")
    assert out.startswith("\\x1b[2J\ufffd\\u202exxx")
    assert "\x1b" not in out
    assert out.count("x") >= 10_000_000
    lines = out.splitlines()
    assert max(map(len, lines)) < 70_000
    assert all(each.endswith("the line goes on)") for each in lines[:-1])
