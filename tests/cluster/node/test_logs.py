"""`kubectl logs` against the node."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.live import patience
from tests.live.nodepods import EMPTY, MOUNT, Pods, host_folder, shell, volume

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")


def test_both_streams_in_order_after_the_end(pods: Pods, folders: Path) -> None:
    """What is said once the last line stands in the log."""
    source, folder = host_folder(folders, pods.namespace)
    until = "until [ -e /v/{} ]; do sleep 0.1; done"
    script = f"echo 1; {until.format(1)}; echo 2 >&2; {until.format(2)}; printf 3"
    pods.create("logs", shell(script, **MOUNT), **volume(**source))
    for line in ("1", "2"):
        pods.wait_log("logs", f"{line}\n")
        (folder / line).touch()
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


def kubectl_logs(pods: Pods, *options: str) -> str:
    return pods.cluster.kubectl("logs", "-n", pods.namespace, "logs", *options).stdout


def test_options(pods: Pods) -> None:
    pods.run("for i in 1 2 3 4 5; do echo $i; done", "logs")
    assert {each: kubectl_logs(pods, *each.split()) for each in OPTIONS} == OPTIONS
    lines = kubectl_logs(pods, "--timestamps").splitlines()
    assert [STAMP.sub("", line) for line in lines] == ["1", "2", "3", "4", "5"]
    assert all(STAMP.match(line) for line in lines)


@pytest.mark.parametrize("query", [{}, {"tailLines": "2"}], ids=["whole", "tail"])
def test_a_line_longer_than_a_record_is_one(pods, query):
    pods.create("long", shell("head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"))
    assert pods.wait_log("long", "\nend\n", **query) == "x" * 100_000 + "\nend\n"


def test_the_previous_run(pods: Pods) -> None:
    # The second runs on: of a pod that has ended a kubelet keeps one run.
    script = "[ -e /v/seen ] && { echo second; sleep 600; }; touch /v/seen; echo first; exit 1"
    pods.create("again", shell(script, **MOUNT), restartPolicy="OnFailure", **EMPTY)
    assert pods.wait_log("again", "second") == "second\n"
    assert pods.log("again", previous="true") == "first\n"


def test_a_container_that_waits_has_none(pods: Pods) -> None:
    pods.create("waits", shell("exit 0", envFrom=[{"configMapRef": {"name": "absent"}}]))
    pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    answer = pods.cluster.kubectl("logs", "-n", pods.namespace, "waits", check=False)
    assert "is waiting to start" in answer.stderr


def test_follow_shows_lines_as_they_come(pods: Pods) -> None:
    pods.create("talks", shell("echo first; sleep 600"))
    pods.wait_ready("talks")
    command = [str(pods.cluster.bin_dir / "kubectl"), "logs", "-f", "-n", pods.namespace, "talks"]
    env = pods.cluster.kubectl_environment()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        pods.delete("talks")
        assert process.stdout.read() == ""
        process.wait(timeout=patience.SECONDS)


def test_a_long_silence_does_not_end_it(pods: Pods) -> None:
    pods.create("logs", shell("sleep 3; echo late"))
    pods.wait_phase("logs", "Running", "Succeeded")
    assert kubectl_logs(pods, "-f") == "late\n"


def test_what_the_node_cannot_do_is_said_in_a_line(pods: Pods) -> None:
    pods.create("closed", shell("sleep 3600"))
    pods.wait_ready("closed")
    command = ("-n", pods.namespace, "attach", "closed")
    done = pods.cluster.kubectl(*command, check=False)
    assert done.returncode != 0
    assert "this node serves logs, exec and port-forward only" in done.stderr
    assert "<" not in done.stderr


def test_much_output_is_kept_whole(pods: Pods) -> None:
    pods.create("much", shell("seq 1 200000"))
    log = pods.wait_log("much", "\n200000\n")
    assert log == "".join(f"{number}\n" for number in range(1, 200_001))
