"""What becomes of a job when somebody takes its children away."""

import pytest

from tests.live.lab import CORE, Lab, Raw, paddle_job, shell

WAITS = shell("exec sleep 3600")


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    module_lab.submit(paddle_job("kept", {"worker": (2, WAITS)}, intranet="Service"))
    module_lab.wait_phase("kept", "Running")
    return module_lab


def uids(lab: Lab, name: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in lab.pods(name)]


@pytest.mark.parametrize(
    "child", ["services/kept-worker-1", "configmaps/kept"], ids=["Service", "ConfigMap"]
)
def test_child_that_was_deleted_is_made_again_as_it_was(jobs: Lab, child: str) -> None:
    before, pods = jobs.get(CORE, child), uids(jobs, "kept")
    jobs.kubectl("delete", child)

    def is_back() -> Raw | None:
        found = jobs.get(CORE, child)
        return found if found and found["metadata"]["uid"] != before["metadata"]["uid"] else None

    after = jobs.wait(is_back, f"another {child}")
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert after.get("data") == before.get("data")
    assert uids(jobs, "kept") == pods
    assert jobs.status("kept")["attempt"] == 1
