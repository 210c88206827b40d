"""`kubectl logs` against the node."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from localcluster.machine import clock
from tests.live.nodepods import Pods, container_status, shell

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")


def test_both_streams_in_order_after_the_end(pods: Pods) -> None:
    pods.create("logs", shell("echo 1; sleep 1; echo 2 >&2; sleep 1; printf 3"))
    pods.wait_phase("logs", "Succeeded")
    assert pods.log("logs") == "1\n2\n3"


OPTIONS = {
    "": "1\n2\n3\n4\n5\n",
    "--tail=2": "4\n5\n",
    "--tail=0": "",
    "--limit-bytes=3": "1\n2",
    "--since=1h": "1\n2\n3\n4\n5\n",
    "--since-time=2999-01-01T00:00:00Z": "",
    "-f": "1\n2\n3\n4\n5\n",
    "-f --tail=1": "5\n",
}


def test_options(pods: Pods) -> None:
    pods.create("logs", shell("for i in 1 2 3 4 5; do echo $i; done"))
    pods.wait_phase("logs", "Succeeded")
    assert {each: pods.log("logs", *each.split()) for each in OPTIONS} == OPTIONS
    lines = pods.log("logs", "--timestamps").splitlines()
    assert [STAMP.sub("", line) for line in lines] == ["1", "2", "3", "4", "5"]
    assert all(STAMP.match(line) for line in lines)


def test_a_line_longer_than_a_record(pods: Pods) -> None:
    pods.create("long", shell("head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"))
    pods.wait_phase("long", "Succeeded")
    pods.wait_log("long", "\nend\n")
    assert pods.log("long") == "x" * 100_000 + "\nend\n"


def test_the_tail_counts_lines_and_not_records(pods: Pods) -> None:
    pods.create("long", shell("head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"))
    pods.wait_phase("long", "Succeeded")
    assert pods.wait_log("long", "\nend\n", "--tail=2") == "x" * 100_000 + "\nend\n"


def test_the_previous_run(pods: Pods) -> None:
    volume = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    # The second runs on: of a pod that has ended a kubelet keeps one run.
    script = "[ -e /v/seen ] && { echo second; sleep 600; }; touch /v/seen; echo first; exit 1"
    spec = {"restartPolicy": "OnFailure", "volumes": [{"name": "v", "emptyDir": {}}]}
    pods.create("again", shell(script, **volume), **spec)
    assert pods.wait_log("again", "second") == "second\n"
    assert pods.log("again", "--previous") == "first\n"


def test_a_container_that_waits_has_none(pods: Pods) -> None:
    pods.create("waits", shell("exit 0", envFrom=[{"configMapRef": {"name": "absent"}}]))
    pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    answer = pods.cluster.kubectl("logs", "-n", pods.namespace, "waits", check=False)
    assert "is waiting to start" in answer.stderr


@contextmanager
def following(pods: Pods, name: str) -> Iterator[Any]:
    """kubectl logs -f, as a process whose output can be read line by line."""
    process = subprocess.Popen(
        [pods.cluster.bin_dir / "kubectl", "logs", "-f", "-n", pods.namespace, name],
        env=pods.cluster.kubectl_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def test_follow_shows_lines_as_they_come(pods: Pods) -> None:
    volume = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    writer = shell("echo first; until [ -e /tmp/go ]; do sleep 0.1; done", **volume)
    pods.create("talks", writer, volumes=[{"name": "v", "emptyDir": {}}])
    pods.wait_ready("talks")
    with following(pods, "talks") as process:
        assert process.stdout.readline() == "first\n"
        pods.delete("talks")
        assert process.stdout.read() == ""
        process.wait(timeout=120)


def test_a_long_silence_does_not_end_it(pods: Pods) -> None:
    pods.create("quiet", shell("sleep 3; echo late"))
    pods.wait_phase("quiet", "Running", "Succeeded")
    assert pods.log("quiet", "-f") == "late\n"
    pod = pods.wait_phase("quiet", "Succeeded")
    assert container_status(pod)["state"]["terminated"]["exitCode"] == 0


def test_what_the_node_cannot_do_is_said_in_a_line(pods: Pods) -> None:
    pods.create("closed", shell("sleep 60"))
    pods.wait_ready("closed")
    command = ("-n", pods.namespace, "attach", "closed")
    done = pods.cluster.kubectl(*command, check=False)
    assert done.returncode != 0
    assert "this node serves logs, exec and port-forward only" in done.stderr
    assert "<" not in done.stderr


def test_much_output_is_kept_whole(pods: Pods) -> None:
    started = clock.monotonic()
    pods.create("much", shell("seq 1 200000"))
    pods.wait_phase("much", "Succeeded")
    pods.wait_log("much", "\n200000\n")
    assert pods.log("much") == "".join(f"{number}\n" for number in range(1, 200_001))
    assert clock.monotonic() - started < 120
