"""Shows a job and its pods as a table, follows worker 0's log, and says how the job ended."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any

from localcluster import Cluster

Raw = dict[str, Any]
POLL_SECONDS = 0.5
LAST_LINES = 20
AUC = re.compile(r"AUC (\d\.\d+)")
MODEL = re.compile(r"model saved in (\S+?):? ")


class Follower:
    """Follows one job. A second thread prints the log; a lock keeps table and log lines apart."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._printing = threading.Lock()
        self._log: list[str] = []
        self._table = ""

    def follow(self, timeout_seconds: float) -> int:
        """Wait for the job's end; 0 if it completed, else 1. Raises if a cluster component ends."""
        deadline = time.monotonic() + timeout_seconds
        pods: list[Raw] = []
        logs = threading.Thread(target=self._stream_log, name="log", daemon=True)
        logs.start()
        while time.monotonic() < deadline:
            self._cluster.raise_if_dead()
            job, pods = self._look()
            self._show(job, pods)
            phase = job.get("status", {}).get("phase")
            if phase in ("Completed", "Failed"):
                logs.join(timeout=5.0)
                return self._finish(job, pods)
            time.sleep(POLL_SECONDS)
        print(f"the job did not end within {timeout_seconds:.0f} s")
        self._describe()
        for pod in pods:
            self._print_log(pod["metadata"]["name"])
        return 1

    def _look(self) -> tuple[Raw, list[Raw]]:
        selector = f"batch.paddlepaddle.org/job-name={self._name}"
        job = self._get("pdj", self._name)
        return job, self._get("pods", "-l", selector)["items"]

    def _get(self, *arguments: str) -> Raw:
        done = self._cluster.kubectl("-n", self._namespace, "get", *arguments, "-o", "json")
        found: Raw = json.loads(done.stdout)
        return found

    def _show(self, job: Raw, pods: list[Raw]) -> None:
        table = render(job, pods)
        if table != self._table:
            self._table = table
            with self._printing:
                print(f"\n{table}\n", flush=True)

    def _stream_log(self) -> None:
        """Run `kubectl logs -f` for worker 0, again and again until it has printed a line."""
        pod = f"{self._name}-worker-0"
        command = ["kubectl", "-n", self._namespace, "logs", "-f", pod]
        environment = self._cluster.kubectl_environment()
        while not self._log:
            with subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            ) as process:
                for line in process.stdout or ():
                    self._log.append(line)
                    with self._printing:
                        print(f"  {pod} | {line}", end="", flush=True)
            time.sleep(POLL_SECONDS)

    def _finish(self, job: Raw, pods: list[Raw]) -> int:
        print(self._cluster.kubectl("-n", self._namespace, "get", "pdj").stdout, end="")
        if job["status"]["phase"] != "Completed":
            self._explain(job, pods)
            return 1
        text = "".join(self._log)
        rising = AUC.findall(text)
        if rising:
            print(f"AUC per epoch: {' -> '.join(rising)}")
        model = MODEL.search(text)
        if model:
            print(f"the model is in {self._on_host(job, model.group(1))}")
        return 0

    def _on_host(self, job: Raw, path: str) -> str:
        """Where worker 0's `path` is: on the node if in a hostPath volume, else in the pod."""
        spec = job["spec"]["worker"]["template"]["spec"]
        paths = {v["name"]: v.get("hostPath", {}).get("path") for v in spec.get("volumes") or ()}
        for mount in spec["containers"][0].get("volumeMounts") or ():
            host = paths.get(mount["name"])
            if host and path.startswith(mount["mountPath"]):
                return str(host) + path.removeprefix(mount["mountPath"])
        return f"{path} of worker 0's container"

    def _explain(self, job: Raw, pods: list[Raw]) -> None:
        for condition in job["status"].get("conditions", ()):
            if condition["type"] == "Failed":
                print(f"failed: {condition['reason']}: {condition['message']}")
        for failure in job["status"].get("failures", ()):
            print(f"{failure['pod']} (attempt {failure['attempt']}): {failure['reason']}")
            print(f"  {failure['message']}")
        for pod in pods:
            if pod["status"]["phase"] == "Failed":
                self._print_log(pod["metadata"]["name"])

    def _print_log(self, pod: str) -> None:
        log = self._cluster.kubectl(
            "-n", self._namespace, "logs", f"--tail={LAST_LINES}", pod, check=False
        )
        print(f"--- {pod}, its last lines:\n{log.stdout}")

    def _describe(self) -> None:
        with contextlib.suppress(Exception):
            print(self._cluster.kubectl("-n", self._namespace, "describe", "pdj").stdout)


def render(job: Raw, pods: list[Raw]) -> str:
    """The table of a job and its pods: phase and ready pods, then each pod's state and address."""
    status = job.get("status") or {}
    ready = [f"{role} {status[role]['ready']}" for role in ("ps", "worker") if role in status]
    head = " ".join([job["metadata"]["name"], status.get("phase", "-"), *ready])
    lines = [bold(head)]
    for pod in sorted(pods, key=lambda each: each["metadata"]["name"]):
        address = pod["status"].get("podIP", "")
        lines.append(f"  {pod['metadata']['name']:<28} {state_of(pod):<28} {address}")
    return "\n".join(lines)


def state_of(pod: Raw) -> str:
    """The reason for which a container of the pod waits or has ended, else the pod's phase."""
    for container in pod["status"].get("containerStatuses") or ():
        state = container.get("state") or {}
        for kind in ("waiting", "terminated"):
            reason = (state.get(kind) or {}).get("reason")
            if reason:
                return str(reason)
    return str(pod["status"].get("phase", ""))


def bold(text: str) -> str:
    """The text in bold, if standard output is a terminal and NO_COLOR is not set."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        return f"\033[1m{text}\033[0m"
    return text
