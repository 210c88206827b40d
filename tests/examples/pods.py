"""Training programs started as the pods of a job, with the environment that the operator gives.

Each pod is a process with a loopback address of its own. The listeners of some of Paddle's helpers
take the port on all addresses, so every job here has its own port range.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Self

from localcluster.build.environments import ensure_environment

EXAMPLES = Path(__file__).parents[2] / "examples"
PORTS_PER_JOB = 20
FIRST_PORTS = cycle(random.sample(range(10_000, 20_000, PORTS_PER_JOB), 500))
"""No two jobs of a test process have the same ports: a server of the first may still serve."""
WORKERS = 10  # the last byte of the first worker's address
TRAINING_ROLES = {"ps": "PSERVER", "worker": "TRAINER"}


def python() -> str:
    return str(ensure_environment("examples", print) / "bin" / "python")


class Pod:
    """One process, its log in a file; the head of a process group of its own.

    Its temporary folder goes with it, as a container's /tmp does.
    """

    def __init__(self, command: list[str], env: dict[str, str], folder: Path) -> None:
        folder.mkdir(parents=True)
        self._tmp = tempfile.TemporaryDirectory(prefix="pod-", ignore_cleanup_errors=True)
        env = env | {"TMPDIR": self._tmp.name}
        self._log = folder / "log.txt"
        with self._log.open("w") as out:
            self._process = subprocess.Popen(
                command, env=env, cwd=folder, stdout=out, stderr=out, start_new_session=True
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def find(self, pattern: str) -> list[str]:
        """The first group of every match in the log."""
        return re.findall(pattern, self.log)

    def wait(self, seconds: float) -> int:
        return self._process.wait(seconds)

    @property
    def has_crashed(self) -> bool:
        """Whether a segmentation fault has ended it."""
        return self._process.poll() == -signal.SIGSEGV

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        """All of it, as the end of a container does: the launcher's children lead groups too."""
        for group in [*_children(self._process.pid), self._process.pid]:
            _kill_group(group)
        self._process.wait()
        self._tmp.cleanup()


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class Job:
    """Pods that know each other; all are killed when the block ends."""

    def __init__(self, folder: Path, command: list[str], workers: int, servers: int = 0) -> None:
        self._folder = folder
        self._command = command
        self._subnet = f"127.{random.randint(16, 250)}.{random.randint(0, 250)}"
        self._port = next(FIRST_PORTS)
        self._addresses = {
            "worker": [f"{self._subnet}.{WORKERS + index}" for index in range(workers)],
            "ps": [f"{self._subnet}.{100 + index}" for index in range(servers)],
        }
        self.workers: list[Pod] = []
        self.servers: list[Pod] = []

    @property
    def pods(self) -> list[Pod]:
        return [*self.servers, *self.workers]

    def start(self, settings: dict[str, str]) -> Self:
        """Every pod with these settings besides what the operator says."""
        roles = {"ps": self.servers, "worker": self.workers}
        for role, pods in roles.items():
            for index in range(len(self._addresses[role])):
                env = os.environ | self._config_map() | self._pod(role, index) | settings
                pods.append(Pod(self._command, env, self._folder / f"{role}-{index}"))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def train(self, settings: dict[str, str]) -> Self:
        """Start, and wait until every worker has ended well; the servers still serve.

        Now and then PaddlePaddle 2.6.2's server crashes in getenv as its threads begin to serve.
        Then all start again, once, as the operator restarts a gang.
        """
        self.start(settings)
        if self._loses_a_server():
            self.kill()
            self._folder /= "again"
            for pods in (self.workers, self.servers):
                pods.clear()
            self.start(settings)
        assert self.wait() == [0] * len(self.workers), self.workers[0].log
        return self

    def kill(self) -> None:
        for pod in self.pods:
            pod.kill()

    def wait(self, seconds: float = 240.0) -> list[int]:
        """The workers' exit codes."""
        deadline = time.monotonic() + seconds
        return [worker.wait(deadline - time.monotonic()) for worker in self.workers]

    def _loses_a_server(self) -> bool:
        """Whether a server crashes before the workers have ended."""
        deadline = time.monotonic() + 240.0
        while time.monotonic() < deadline and any(worker.is_running for worker in self.workers):
            if any(server.has_crashed for server in self.servers):
                return True
            time.sleep(0.2)
        return False

    def _endpoints(self, role: str) -> str:
        return ",".join(f"{address}:{self._port}" for address in self._addresses[role])

    def _config_map(self) -> dict[str, str]:
        workers = self._addresses["worker"]
        variables = {
            "PADDLE_PORT": str(self._port),
            "TRAINER_PORTS_NUM": str(PORTS_PER_JOB),
            "PADDLE_TRAINER_ENDPOINTS": self._endpoints("worker"),
            "PADDLE_TRAINERS": ",".join(workers),
            "PADDLE_TRAINER_IPS": ",".join(workers),
            "PADDLE_TRAINERS_NUM": str(len(workers)),
            "PADDLE_JOB_NAME": "test",
            "PADDLE_IS_LOCAL": "0",
        }
        if not self._addresses["ps"]:
            return variables
        gloo_port = self._port + PORTS_PER_JOB - 2
        return variables | {
            "PADDLE_PSERVERS_IP_PORT_LIST": self._endpoints("ps"),
            "PADDLE_PSERVERS": ",".join(self._addresses["ps"]),
            "PADDLE_PSERVERS_NUM": str(len(self._addresses["ps"])),
            "PADDLE_WITH_GLOO": "1",
            "PADDLE_GLOO_RENDEZVOUS": "3",
            "PADDLE_GLOO_HTTP_ENDPOINT": f"{self._addresses['ps'][0]}:{gloo_port}",
        }

    def _pod(self, role: str, index: int) -> dict[str, str]:
        address = self._addresses[role][index]
        return {
            "POD_IP": address,
            "PADDLE_CURRENT_IP": address,
            "PADDLE_CURRENT_ENDPOINT": f"{address}:{self._port}",
            "TRAINING_ROLE": TRAINING_ROLES[role],
            "PADDLE_TRAINING_ROLE": TRAINING_ROLES[role],
            ("PADDLE_PSERVER_ID" if role == "ps" else "PADDLE_TRAINER_ID"): str(index),
        }


def wait_until(condition: Callable[[], object], what: str, seconds: float = 200.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {seconds} s"
        time.sleep(0.1)
