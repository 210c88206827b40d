"""What a real kubelet says of programs that fail, and what the job's status makes of it."""

import pytest

from tests.e2e.jobs import SLEEP, template
from tests.live.lab import Lab, paddle_job

FAILURES = [
    pytest.param(
        template("echo training; echo 'no such file: data.csv' >&2; exit 7"),
        7,
        "no such file: data.csv",
        id="the last lines of the log",
    ),
    # PID 1 cannot kill itself, so its child does; `$$` is how a pod writes `$`.
    pytest.param(
        template("sh -c 'kill -SEGV $$$$'; exit $?"), 139, "SIGSEGV", id="a signal by its name"
    ),
    pytest.param(template("", command=["pythonn", "a.py"]), 128, "pythonn", id="no such program"),
]


@pytest.mark.parametrize(("worker", "code", "words"), FAILURES)
def test_the_record_says_why_a_program_failed(lab, worker, code, words):
    lab.submit(paddle_job("fails", {"ps": (1, template(SLEEP)), "worker": (1, worker)}))
    lab.wait(lambda: lab.status("fails").get("phase") == "Failed", "it has failed")
    record = lab.status("fails")["failures"][-1]
    assert record["exitCode"] == code
    assert words in record["message"]


@pytest.mark.parametrize("image", ["localhost/never-built:1", "no/such:image:name"])
def test_image_that_is_not_there(lab: Lab, image: str) -> None:
    """What the kubelet says of it is in the job's sentence, long before the job fails of it."""
    lab.submit(paddle_job("image", {"worker": (1, template(SLEEP, image=image))}))
    lab.wait(
        lambda: image in lab.condition("image", "Pending").get("message", ""), "the image is named"
    )
