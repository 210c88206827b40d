"""Real launchers meet, however they know where: two workers train as one, restarted too.

A job of each version is restarted: launchers meet in each attempt as in the one before.

Paddle 2.6.2 by addresses: the guide's resnet in tests/manuals/test_guide.py.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from api.constants import ANNOTATION_STATIC_RENDEZVOUS, PORT, PORTS_PER_POD
from pdj.gather.fold import INSTEAD
from tests.examples.files import python
from tests.live.environments import paddle_3
from tests.live.lab import Lab, paddle_job
from tests.live.pdj import Tool

pytestmark = [pytest.mark.training, pytest.mark.cluster]

PROGRAMS = Path(__file__).parent / "launched"
DELAY_SECONDS = 10
SUM = re.compile(r"^rank (\d) of (\d): sum (\d) on ([\d,]*)$", re.MULTILINE)
LAUNCH = "-m paddle.distributed.launch /programs/sum_up.py"
COMMANDS = {
    "list": LAUNCH,
    "endpoints": LAUNCH,
    "command-line": "/programs/command_line.py /programs/sum_up.py",
}


PYTHONS = {"2.6.2": python, "3.3.1": lambda: str(paddle_3())}


def a_job(name: str, command: str, attempts: int, **spec: Any) -> dict[str, Any]:
    """Two workers, whose last attempt ends well; rank 0 comes late to that one."""
    late = f'[ "$RANK$PADDLE_RENDEZVOUS" != 0{attempts} ] || sleep {DELAY_SECONDS}'
    script = f"{late}; exec {command}"
    trainer = {
        "name": "paddle",
        "image": "busybox",
        "command": ["sh", "-c", script],
        "env": [{"name": "ATTEMPTS", "value": str(attempts)}],
        "workingDir": "/logs",
        "volumeMounts": [
            {"name": "programs", "mountPath": "/programs"},
            {"name": "logs", "mountPath": "/logs"},
        ],
    }
    volumes = [
        {"name": "programs", "hostPath": {"path": str(PROGRAMS)}},
        {"name": "logs", "emptyDir": {}},
    ]
    template = {"spec": {"containers": [trainer], "volumes": volumes}}
    return paddle_job(name, {"worker": (2, template)}, backoffLimit=1, **spec)


@pytest.mark.parametrize(
    ("version", "intranet", "ways"),
    [
        ("2.6.2", "Service", {"list": 2, "endpoints": 1}),
        # paddleformers-cli, which starts the launcher by its command line, takes PaddlePaddle 3.
        ("3.3.1", "PodIP", {"list": 2, "command-line": 1}),
    ],
)
def test_two_workers_train_as_one(
    lab: Lab, version: str, intranet: str, ways: dict[str, int]
) -> None:
    program = PYTHONS[version]()
    for way, attempts in ways.items():
        command = f"{program} {COMMANDS[way]}"
        job = a_job(way, command, attempts, intranet=intranet, cleanPodPolicy="Never")
        if way == "endpoints":
            job["metadata"]["annotations"] = {ANNOTATION_STATIC_RENDEZVOUS: "false"}
        lab.submit(job)
    for way, attempts in ways.items():
        status = lab.wait_completed(way)
        assert status["attempt"] == attempts, "an earlier attempt fails once it has trained"
        logs = [lab.log(f"{way}-worker-{index}") for index in (0, 1)]
        found = [SUM.findall(log) for log in logs]
        sums = [each[:3] for group in found for each in group]
        assert sums == [("0", "2", "3"), ("1", "2", "3")], "\n\n".join(logs)
        whole = Tool(lab).ok("logs", way, "--no-prefix", "--launcher-settings").splitlines()
        shown = Tool(lab).ok("logs", way, "--no-prefix").splitlines()
        assert shown.count(INSTEAD.decode()) == len(logs)
        left_out = Counter(whole) - Counter(shown)
        assert all(line.startswith("LAUNCH ") for line in left_out), left_out
        assert Counter(shown) - Counter(whole) == {INSTEAD.decode(): len(logs)}
        assert not [line for line in shown if ": None" in line or "overridden by env" in line]
        if way == "list":
            ports = {int(port) for ((*_, told),) in found for port in told.split(",") if port}
            assert PORT in ports
            assert ports <= set(range(PORT, PORT + PORTS_PER_POD))
