"""Runs manifests to completion in a temporary cluster, and prints what happens."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.client.rest import Raw
from localcluster.cluster.cluster import Cluster
from localcluster.cluster.config import ClusterConfig
from localcluster.commands.manifests import install, parse_stream
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError

POLL_SECONDS = 0.5
LOG_TAIL = 20
SUCCEEDED_PHASES = ("Succeeded", "Completed")
SUCCEEDED_CONDITIONS = ("Complete", "Completed", "Succeeded")
FINISHING_KINDS = ("Pod", "Job", "PaddleJob")


def run_files(
    config: ClusterConfig, files: Sequence[str], beside: Sequence[str], timeout_seconds: float
) -> int:
    """Create the files' objects and wait until the Pods, Jobs and PaddleJobs among them end; return
    0 if all succeeded, else 1. Raises LocalClusterError, also if a command of `beside` ends first.
    """
    for file in files:
        if not Path(file).exists() and "://" not in file:
            raise LocalClusterError(f"no such file: {file}")
    with Cluster(config) as cluster:
        for number, command in enumerate(beside):
            cluster.run_beside(f"with-{number}", shlex.split(command), Path.cwd())
        objects = [created for file in files for created in install(cluster, file)]
        finishing = [each for each in objects if each["kind"] in FINISHING_KINDS]
        if not finishing:
            raise LocalClusterError(
                f"there is no Pod, Job or PaddleJob to wait for in {', '.join(files)}"
            )
        return _Run(cluster, finishing).follow(timeout_seconds)


def outcome(thing: Raw) -> bool | None:
    """Whether the object has succeeded; None while it runs."""
    status = thing.get("status", {})
    true = [each["type"] for each in status.get("conditions", []) if each["status"] == "True"]
    if status.get("phase") in SUCCEEDED_PHASES or set(true) & set(SUCCEEDED_CONDITIONS):
        return True
    if status.get("phase") == "Failed" or "Failed" in true:
        return False
    return None


@dataclass
class _Run:
    """Watches the objects and pods, and prints each change once."""

    cluster: Cluster
    objects: Sequence[Raw]
    told: dict[str, str] = field(default_factory=dict)

    def follow(self, timeout_seconds: float) -> int:
        deadline = clock.monotonic() + timeout_seconds
        while clock.monotonic() < deadline:
            self.cluster.raise_if_dead()
            outcomes = [outcome(thing) for thing in self._look()]
            if None not in outcomes:
                return self._end(all(outcomes))
            clock.sleep(POLL_SECONDS)
        print(f"not ended within {timeout_seconds:.0f} s")
        return self._end(False)

    def _look(self) -> list[Raw]:
        wanted = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects})
        shown = self.cluster.kubectl("get", "-o", "json", "-f", "-", stdin=wanted).stdout
        things = parse_stream(shown)
        for thing in [*things, *self._pods()]:
            title = f"{thing['kind'].lower()} {thing['metadata']['name']}"
            self._tell(title, thing.get("status", {}).get("phase") or _conditions(thing))
        self._tell_warnings()
        return things

    def _pods(self) -> list[Raw]:
        pods: list[Raw] = self.cluster.get("/api/v1/pods")["items"]
        return [{"kind": "Pod", **pod} for pod in pods]

    def _tell_warnings(self) -> None:
        events = self.cluster.get("/api/v1/events?fieldSelector=type=Warning")["items"]
        for event in events:
            name = event["involvedObject"].get("name", "")
            self._tell(f"{event['reason']} {name}", event.get("message", ""))

    def _tell(self, subject: str, state: str) -> None:
        if state and self.told.get(subject) != state:
            self.told[subject] = state
            print(f"{subject}: {state}", flush=True)

    def _end(self, succeeded: bool) -> int:
        if not succeeded:
            for pod in self._pods():
                if outcome(pod) is False:
                    self._print_log(pod["metadata"])
        print("succeeded" if succeeded else "failed", flush=True)
        return 0 if succeeded else 1

    def _print_log(self, metadata: Raw) -> None:
        where = ("-n", metadata["namespace"], metadata["name"], "--all-containers")
        log = self.cluster.kubectl("logs", f"--tail={LOG_TAIL}", *where, check=False)
        print(f"--- {metadata['name']}, last lines:\n{log.stdout or log.stderr}".rstrip())


def _conditions(thing: Raw) -> str:
    conditions = thing.get("status", {}).get("conditions", [])
    return ", ".join(each["type"] for each in conditions if each["status"] == "True")
