"""The records of twenty usual failures of a program, and of a third of them under the launcher.

What a case says is in the first line of its record; nothing of the environment, which the launcher
writes to the log, is anywhere in the job.
"""

import json
from typing import Any

import pytest

from api.objects import name_of
from tests.live.lab import CORE, Lab, paddle_job

pytestmark = [pytest.mark.training]

Raw = dict[str, Any]
IMAGE = "registry.baidubce.com/paddle-operator/paddle-ubuntu:2.6.2"
LAUNCH = ["python", "-m", "paddle.distributed.launch"]
SECRET = "hunter2"
LIMIT = "700Mi"
FREE_PORT = (
    "import socket\nwith socket.create_server(('', 0)) as s:\n    port = s.getsockname()[1]\n"
)
PROGRAMS = {
    "missing-module": "import einops",
    "exception": "raise ValueError('the learning rate must be positive')",
    "assertion": "assert 2 + 2 == 5, 'batch and labels differ'",
    "sigkill": "import os\nprint('epoch 1', flush=True)\nos.kill(os.getpid(), 9)",
    "sigsegv": "import ctypes, paddle\nctypes.string_at(0)",
    "sigabrt": "import os, paddle\nos.abort()",
    "out-of-memory": "import time\nbatch = b'1' * 2_000_000_000\ntime.sleep(60)",
    "out-of-disk": "with open('/dev/full', 'w') as file:\n    file.write('x' * 100_000)",
    "nan": "import paddle\npaddle.set_flags({'FLAGS_check_nan_inf': 1})\n"
    "paddle.log(paddle.to_tensor([-1.0]))",
    "port-in-use": f"import paddle\n{FREE_PORT}"
    "    paddle.base.core.TCPStore('127.0.0.1', port, True, 1, 5)",
    "wrong-shape": "import paddle\npaddle.set_flags({'FLAGS_call_stack_level': 2})\n"
    "paddle.matmul(paddle.ones([2, 3]), paddle.ones([2, 3]))",
    "missing-file": "open('/data/train.csv')",
    "no-cuda": "import paddle\npaddle.set_device('gpu')",
    "timeout": f"import paddle\n{FREE_PORT}"
    "paddle.base.core.TCPStore('127.0.0.1', port, True, 2, 2)",
    "argparse": "import argparse\nargparse.ArgumentParser().parse_args(['--lrr', '1'])",
    "missing-library": "import ctypes\nctypes.CDLL('libnccl.so.2')",
    "ctrl-c": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)",
    "logged": "print('epoch 1')\nopen('/dev/termination-log', 'w').write('by its own hand')\n1 / 0",
}
COMMANDS = {"pythonn": ["pythonn"], "permission": ["/programs/tool"]}
"""Cases in which nothing starts; under the launcher this is what it is to start."""
WORDS = {
    "missing-module": "ModuleNotFoundError: No module named 'einops'",
    "exception": "ValueError: the learning rate must be positive",
    "assertion": "AssertionError: batch and labels differ",
    "sigkill": "ended by SIGKILL (often out of memory)",
    "sigsegv": "ended by SIGSEGV",
    "sigabrt": "ended by SIGABRT",
    "out-of-memory": f"ran out of memory (OOMKilled, limit {LIMIT})",
    "out-of-disk": "OSError: [Errno 28] No space left on device",
    "nan": "There are NAN or INF (num_nan=1",
    "port-in-use": "ValueError: (InvalidArgument) Bind network on IP_ANY:",
    "wrong-shape": "InvalidArgumentError: Input(Y) has error dim.",
    "missing-file": "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.csv'",
    "no-cuda": "ValueError: The device should not be 'gpu', since PaddlePaddle is not compiled",
    "timeout": "ended by SIGABRT",
    "argparse": "error: unrecognized arguments: --lrr 1",
    "missing-library": "OSError: libnccl.so.2: cannot open shared object file",
    "ctrl-c": "ended by SIGINT: KeyboardInterrupt",
    "logged": "by its own hand",
    "pythonn": "pythonn",
    "permission": "ermission denied",
}
PEERS = """
import os, time, paddle, paddle.distributed as dist
dist.init_parallel_env()
tensor = paddle.ones([4])
dist.all_reduce(tensor)
if dist.get_rank() == 1:
    os.kill(os.getpid(), 9)
while True:
    dist.all_reduce(tensor)
"""
SIDE_BY_SIDE = 5
LAUNCHED = {
    *("exception", "sigsegv", "out-of-memory", "timeout", "argparse", "ctrl-c", "pythonn"),
}
"""One of each way to end: the launcher treats the others, which raise in Python, alike.

A trainer that is ended by SIGKILL is one of the peers.
"""
CASES = [f"{name}-alone" for name in WORDS] + [f"{name}-launched" for name in sorted(LAUNCHED)]


def job(name: str, command: list[str], workers: int = 1, **container: Any) -> Raw:
    """A job whose worker runs one of the programs, with a secret in its environment."""
    trainer = {
        "name": "paddle",
        "image": IMAGE,
        "command": command,
        "env": [{"name": "DB_PASSWORD", "value": SECRET}],
        "volumeMounts": [{"name": "programs", "mountPath": "/programs"}],
        **container,
    }
    volume = {"name": "programs", "configMap": {"name": "programs"}}
    template = {"spec": {"containers": [trainer], "volumes": [volume]}}
    return paddle_job(name, {"worker": (workers, template)}, cleanPodPolicy="Never")


def jobs_of(name: str) -> list[Raw]:
    """A case alone, and under the launcher if it is one of those."""
    script = f"/programs/t-{name}.py"
    alone = COMMANDS.get(name, ["python", script])
    launched = [*LAUNCH, *COMMANDS.get(name, [script])]
    limits: Raw = {"resources": {"limits": {"memory": LIMIT}}} if name == "out-of-memory" else {}
    jobs = [job(f"{name}-alone", alone, **limits), job(f"{name}-launched", launched, **limits)]
    return jobs if name in LAUNCHED else jobs[:1]


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """All of them to their end, a few cases side by side: each imports PaddlePaddle."""
    files = {f"t-{name}.py": text for name, text in PROGRAMS.items()}
    files |= {"tool": "no program", "t-peers.py": PEERS}
    programs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "programs"}}
    module_lab.submit(programs | {"data": files})
    peers = job("peer-lost", [*LAUNCH, "/programs/t-peers.py"], workers=2)
    peers["spec"]["worker"]["template"]["spec"]["containers"][0]["env"].append(
        {"name": "PADDLE_PORT", "value": "36700"}
    )
    module_lab.submit(peers)
    names = list(WORDS)
    for first in range(0, len(names), SIDE_BY_SIDE):
        some = [each for name in names[first : first + SIDE_BY_SIDE] for each in jobs_of(name)]
        module_lab.submit(*some)
        module_lab.wait_all([name_of(each) for each in some], "Failed")
    module_lab.wait_all(["peer-lost"], "Failed")
    return module_lab


@pytest.mark.parametrize("name", CASES)
def test_first_line_of_the_record_says_why(jobs: Lab, name: str) -> None:
    (record,) = jobs.status(name)["failures"]
    words = WORDS[name.removesuffix("-alone").removesuffix("-launched")]
    assert words in record["message"].splitlines()[0], record["message"]


@pytest.mark.parametrize("name", [*CASES, "peer-lost"])
def test_condition_and_event_say_the_same_in_one_sentence(jobs: Lab, name: str) -> None:
    (record,) = jobs.status(name)["failures"]
    message = jobs.condition(name, "Failed")["message"]
    assert record["message"].splitlines()[0] in message
    assert "\n" not in message
    jobs.wait(lambda: message in jobs.events(name, "PodFailed"), "the Event")


@pytest.mark.parametrize("name", [each for each in CASES if each.endswith("-launched")])
def test_nothing_of_the_launchers_or_the_environment_is_told(jobs: Lab, name: str) -> None:
    told = json.dumps([jobs.job(name)["status"], jobs.events(name)])
    for text in (SECRET, "LAUNCH ", "KUBERNETES_SERVICE", "Container rank", "TRAINING_ROLE"):
        assert text not in told


def test_of_peers_the_one_that_died_is_named_and_the_others_are_counted(jobs: Lab) -> None:
    """In every order: its launcher looks at it once a second, as that of its peer does."""
    (record,) = jobs.status("peer-lost")["failures"]
    assert (record["pod"], record["signal"]) == ("peer-lost-worker-1", 9)
    assert "ended by SIGKILL" in record["message"].splitlines()[0]
    pods = {pod["metadata"]["name"]: pod["status"] for pod in jobs.pods("peer-lost")}
    if all(status["phase"] == "Failed" for status in pods.values()):
        assert pods["peer-lost-worker-0"]["containerStatuses"][0]["state"]["terminated"]


def test_log_of_the_case_holds_what_was_kept_out(jobs: Lab) -> None:
    """Or the test above could not fail."""
    pods = jobs.items(CORE, "pods", "batch.paddlepaddle.org/job-name=exception-launched")
    assert SECRET in pods[0]["status"]["containerStatuses"][0]["state"]["terminated"]["message"]
