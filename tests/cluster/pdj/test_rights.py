"""What a user may not see, and what goes while it is looked at, is one line and an exit code."""

import json
from pathlib import Path

import pytest

from tests.live import patience
from tests.live.lab import SERVER, Lab, paddle_job, shell
from tests.live.pdj import Done, Tool, run_forked
from tests.live.tenant import write_rights

READ = "get,list,watch"
JOBS, PODS = (READ, "paddlejobs"), (READ, "pods")
SAYS_READY = shell("echo ready; echo short; exec sleep 3600")


@pytest.fixture(scope="module")
def running(module_lab: Lab) -> Lab:
    """A job that runs, and users who may see more and less of it."""
    module_lab.submit(paddle_job("steady", {"worker": (1, SERVER)}))
    for user, rules in (("nobody", ()), ("boss", (JOBS,)), ("guest", (JOBS, PODS))):
        write_rights(module_lab, user, *rules)
    module_lab.wait_phase("steady", "Running")
    return module_lab


def run_as(lab: Lab, user: str, *arguments: str) -> Done:
    kubeconfig = lab.cluster.kubeconfig_for(lab.namespace, user)
    return run_forked("-n", lab.namespace, *arguments, kubeconfig=str(kubeconfig))


def assert_refused(done: Done, what: str) -> None:
    """Exit code 1, and one line that says what is not allowed."""
    assert done.code == 1, done
    assert done.notes.startswith("error: "), done
    assert what in done.notes
    assert len(done.notes.splitlines()) == 1


@pytest.mark.parametrize("words", [["logs", "steady"], ["logs", "steady", "-f"]], ids=" ".join)
def test_who_may_see_jobs_and_pods_but_no_logs(running: Lab, words: list[str]) -> None:
    assert_refused(run_as(running, "guest", *words), 'cannot get resource "pods/log"')
    shown = run_as(running, "guest", "status", "steady").out
    assert "1/1 running" in shown
    assert 'progress unknown: pods "steady-worker-0" is forbidden' in shown
    assert run_as(running, "guest", "list").code == 0


def test_who_may_see_jobs_alone(running: Lab) -> None:
    told = run_as(running, "boss", "status", "steady")
    assert told.code == 0
    assert "pods cannot be read: pods is forbidden" in told.out
    explained = run_as(running, "boss", "explain", "steady")
    assert "Why: AllPodsRunning" in explained.out
    assert "events is forbidden" in explained.out
    followed = run_as(running, "boss", "status", "steady", "-w", "--timeout", "5")
    assert followed.code == 124
    assert "pods cannot be read: pods is forbidden" in followed.out
    for words in (["logs", "steady"], ["logs", "steady", "-f"]):
        assert_refused(run_as(running, "boss", *words), "pods is forbidden")


def test_who_may_see_nothing(running: Lab) -> None:
    for words in (["list"], ["status", "steady"], ["explain", "steady"], ["logs", "steady", "-f"],
                  ["suspend", "steady"], ["restart", "steady"], ["delete", "steady"],
                  ["debug", "steady"], ["top", "steady"]):  # fmt: skip
        assert_refused(run_as(running, "nobody", *words), "paddlejobs")


def test_who_may_look_but_not_touch(running: Lab) -> None:
    for words in (["suspend"], ["restart"], ["delete"], ["scale", "--workers", "2"]):
        assert_refused(run_as(running, "guest", *words, "steady"), "cannot")
    assert running.status("steady")["phase"] == "Running"


def test_a_login_that_is_refused(running: Lab, tmp_path: Path) -> None:
    known = json.loads(running.kubectl("config", "view", "--raw", "-o", "json"))
    known["users"] = [{"name": each["name"], "user": {"token": "old"}} for each in known["users"]]
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(known))
    done = run_forked("list", kubeconfig=str(kubeconfig))
    assert_refused(done, "does not accept the login")


def test_a_job_that_goes_while_it_is_looked_at(running: Lab, tool: Tool) -> None:
    running.submit(paddle_job("short", {"worker": (1, SAYS_READY)}))
    running.wait_phase("short", "Running")
    watchers = [tool.start("status", "short", "-w"), tool.start("logs", "short", "-f")]
    for watcher in watchers:  # it has seen the job
        assert watcher.stdout is not None
        assert b"short" in watcher.stdout.readline() + watcher.stdout.readline()
    tool.ok("delete", "short", "--wait")
    for watcher in watchers:
        _, notes = watcher.communicate(timeout=patience.SECONDS)
        last = notes.decode().splitlines()[-1]
        assert (watcher.returncode, last) == (1, "error: the job short has been deleted")
