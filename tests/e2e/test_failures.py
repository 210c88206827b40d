"""What a real kubelet says of programs that fail, and what the job's status makes of it."""

import pytest

from api.objects import Raw
from tests.e2e.images import EXAMPLES
from tests.e2e.jobs import SLEEP, template
from tests.live.lab import Lab, paddle_job

EAT = ["python", "-c", "import time\nkept = []\nwhile True:\n    kept.append(b'x' * 2**20)"]


def fail(lab: Lab, name: str, worker: Raw, **spec: object) -> Raw:
    """The failure record of a job whose only worker fails."""
    lab.submit(paddle_job(name, {"ps": (1, template(SLEEP)), "worker": (1, worker)}, **spec))
    lab.wait(lambda: lab.status(name).get("phase") == "Failed", f"{name} has failed")
    failures = lab.status(name)["failures"]
    assert failures, lab.status(name)
    return failures[-1]


def test_exit_code(lab: Lab) -> None:
    """The last lines of the log are in the record."""
    record = fail(lab, "code", template("echo training; echo 'no such file: data.csv' >&2; exit 7"))
    assert record["exitCode"] == 7
    assert "no such file: data.csv" in record["message"]


def test_out_of_memory(lab: Lab) -> None:
    limits = {"resources": {"limits": {"memory": "64Mi"}}}
    record = fail(lab, "memory", template("", image=EXAMPLES.name, command=EAT, **limits))
    assert record["reason"] == "OOMKilled"
    assert "memory" in record["message"]


def test_signal(lab: Lab) -> None:
    """By its name. PID 1 cannot kill itself, so its child does; `$$` is how a pod writes `$`."""
    record = fail(lab, "signal", template("sh -c 'kill -SEGV $$$$'; exit $?"))
    assert record["exitCode"] == 139
    assert "SIGSEGV" in record["message"]


def test_command_that_is_not_there(lab: Lab) -> None:
    record = fail(lab, "typo", template("", command=["pythonn", "train.py"]))
    assert "pythonn" in record["message"]


@pytest.mark.parametrize("image", ["localhost/never-built:1", "no/such:image:name"])
def test_image_that_is_not_there(lab: Lab, image: str) -> None:
    """What the kubelet says of it is in the job's sentence, long before the job fails of it."""
    lab.submit(paddle_job("image", {"worker": (1, template(SLEEP, image=image))}))
    lab.wait(
        lambda: image in lab.condition("image", "Pending").get("message", ""), "the image is named"
    )
