"""Shows a job by `kubectl pdj` until it ends, and says what it has trained."""

import contextlib
import re
import subprocess
import sys
import time
from typing import Any

from localcluster import Cluster
from localcluster.machine.project import FINDABLE, command

Raw = dict[str, Any]
JOBS = "/apis/batch.paddlepaddle.org/v1/namespaces/{}/paddlejobs/{}"
ENDED = ("Completed", "Failed")
POLL_SECONDS, LAST_LINES_SECONDS = 0.5, 3.0
AUC = re.compile(r"AUC (\d\.\d+)")
MODEL = re.compile(r"model saved in (\S+?):? ")


def follow(cluster: Cluster, namespace: str, name: str, timeout_seconds: float) -> int:
    """Show the job and its pods in each phase, and their logs; 0 if the job completed, else 1.

    Raises if a cluster component ends.
    """

    def pdj(*words: str) -> Raw:
        sys.stdout.flush()
        return {
            "args": command("pdj.__main__", "-n", namespace, *words),
            "env": cluster.kubectl_environment() | FINDABLE,
            "start_new_session": True,  # Ctrl-C must not make it print anything
        }

    deadline, phase = time.monotonic() + timeout_seconds, ""
    with subprocess.Popen(**pdj("logs", "-f", name)) as logs:
        try:
            while phase not in ENDED and time.monotonic() < deadline:
                cluster.raise_if_dead()
                job = cluster.get(JOBS.format(namespace, name))
                before, phase = phase, (job.get("status") or {}).get("phase", "")
                if phase != before:
                    subprocess.run(**pdj("status", name))
                time.sleep(POLL_SECONDS)
            with contextlib.suppress(subprocess.TimeoutExpired):
                logs.wait(LAST_LINES_SECONDS)  # servers can stay, and their logs with them
        finally:
            logs.kill()
    print(cluster.kubectl("-n", namespace, "get", "pdj").stdout, end="")
    if phase not in ENDED:
        print(f"the job did not end within {timeout_seconds:.0f} s")
    if phase != "Completed":
        subprocess.run(**pdj("explain", name))
        return 1
    text = cluster.kubectl("-n", namespace, "logs", f"{name}-worker-0", check=False).stdout
    if rising := AUC.findall(text):
        print(f"AUC per epoch: {' -> '.join(rising)}")
    if model := MODEL.search(text):
        print(f"the model is in {_on_host(job, model[1])}")
    return 0


def _on_host(job: Raw, path: str) -> str:
    """Where worker 0's `path` is: on the node if in a hostPath volume, else in the pod."""
    spec = job["spec"]["worker"]["template"]["spec"]
    paths = {v["name"]: v.get("hostPath", {}).get("path") for v in spec.get("volumes") or ()}
    for mount in spec["containers"][0].get("volumeMounts") or ():
        host = paths.get(mount["name"])
        if host and path.startswith(mount["mountPath"]):
            return str(host) + path.removeprefix(mount["mountPath"])
    return f"{path} of worker 0's container"
