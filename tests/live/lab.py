"""What a user does with a running operator, in a namespace of the test's own.

Waits are conditions with deadlines; what they look at comes straight from the API server.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from api.constants import LABEL_JOB_NAME, LABEL_ROLE
from kube.client import STRICT
from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.node.pod import turn
from tests.live import networks, patience

Raw = dict[str, Any]
CORE = "/api/v1"
PADDLE_JOBS = "/apis/batch.paddlepaddle.org/v1"
ENDED = ("Completed", "Failed")
ETCD = Path(__file__).parents[2] / "manifests" / "elastic" / "etcd.yaml"
POLL_SECONDS, MAX_POLL_SECONDS, MAX_REST_SECONDS = 0.1, 0.25, 1.0
ONE_JOB_SECONDS = 60.0
"""A job that has waited this long for another one of the same test will wait until the end."""


class Lab:
    """A namespace of a cluster in which an operator runs."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def kubectl(self, *arguments: str, **options: Any) -> str:
        """What kubectl prints in this namespace; raises LocalClusterError when it fails."""
        options = {"timeout_seconds": patience.SECONDS} | options
        return self.cluster.kubectl("-n", self.namespace, *arguments, **options).stdout

    def submit(self, *objects: Raw) -> None:
        """`kubectl create` of objects as one file; without kubectl if all are jobs, as most are.

        A kubectl takes ten times the CPU of a request.
        """
        if any(each["kind"] != "PaddleJob" for each in objects):
            self.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(objects))
            return
        for job in objects:
            path = f"/apis/{job['apiVersion']}/namespaces/{self.namespace}/paddlejobs"
            self.cluster.client.create(path, job, STRICT)

    def start_etcd(self) -> None:
        """Create the etcd of elastic jobs, or update it, and wait until it is ready.

        `kubectl rollout status` refuses a StatefulSet that is updated OnDelete.
        """
        self.kubectl("apply", "-f", str(ETCD))
        ready = "--for=jsonpath={.status.readyReplicas}=1"
        self.kubectl("wait", ready, "statefulset/paddle-elastic-etcd", patience.IN_KUBECTL)

    def get(self, api: str, resource: str) -> Any:
        """What is at this path of an API in this namespace: `get(CORE, "pods/x")`, or None."""
        return self.cluster.client.find(f"{api}/namespaces/{self.namespace}/{resource}")

    def patch(self, api: str, resource: str, **fields: Any) -> None:
        """Merge fields into what is at this path: `patch(CORE, "pods/x/status", status=…)`."""
        self.cluster.client.merge_patch(f"{api}/namespaces/{self.namespace}/{resource}", fields)

    def edit(self, job: str, **spec: Any) -> None:
        """Change these fields of a job's spec; raises ApiError where that is refused."""
        self.patch(PADDLE_JOBS, f"paddlejobs/{job}", spec=spec)

    def items(self, api: str, resource: str, selector: str = "") -> list[Raw]:
        found = self.get(api, f"{resource}?labelSelector={quote(selector)}")
        return list(found["items"]) if found else []

    def job(self, name: str) -> Raw:
        """The job as it is now; raises when there is none."""
        found = self.get(PADDLE_JOBS, f"paddlejobs/{name}")
        assert found is not None, f"no job {name}"
        return dict(found)

    def status(self, name: str) -> Raw:
        """The job's status; empty while it has none."""
        return dict(self.job(name).get("status") or {})

    def pods(self, job: str, role: str = "") -> list[Raw]:
        """The job's pods, of one role or all, in order of their names."""
        selector = f"{LABEL_JOB_NAME}={job}" + (f",{LABEL_ROLE}={role}" if role else "")
        return sorted(self.items(CORE, "pods", selector), key=lambda pod: pod["metadata"]["name"])

    def pod_names(self, job: str, role: str = "") -> list[str]:
        """Names of the job's pods that are not going."""
        pods = self.pods(job, role)
        return [p["metadata"]["name"] for p in pods if "deletionTimestamp" not in p["metadata"]]

    def log(self, pod: str, container: str = "") -> str:
        named = {"container": container} if container else None
        return self.cluster.client.text(f"{CORE}/namespaces/{self.namespace}/pods/{pod}/log", named)

    def events(self, job: str, reason: str = "") -> list[str]:
        """The messages of the job's Events, of one reason or all."""
        return [
            event.get("message", "")
            for event in self.items(CORE, "events")
            if event["involvedObject"].get("kind") == "PaddleJob"
            and event["involvedObject"].get("name") == job
            and reason in ("", event["reason"])
        ]

    def condition(self, name: str, type_: str) -> Raw:
        """The job's condition of this type if it is True, else an empty one."""
        for condition in self.status(name).get("conditions") or ():
            if condition["type"] == type_ and condition["status"] == "True":
                return dict(condition)
        return {}

    def wait(self, holds: Callable[[], Any], what: str) -> Any:
        """The first true value of `holds`; fails with what there is at the deadline.

        It is asked for the less often, the longer that takes, and a question that takes long, such
        as a kubectl, a quarter of the time at most: it must not take the CPU of what it waits for.
        """
        began = asked = time.monotonic()
        while not (value := holds()):
            answered = time.monotonic()
            waited, took = answered - began, answered - asked
            if waited > patience.SECONDS:
                raise AssertionError(
                    f"not within {patience.SECONDS:.0f} s: {what}\n{self.report()}"
                )
            if waited > ONE_JOB_SECONDS and self._waits_for_own_job():
                pytest.skip("pods share this machine's network: one job runs at a time")
            rest = max(min(MAX_POLL_SECONDS, waited / 20), min(MAX_REST_SECONDS, 3 * took))
            clock.sleep(max(POLL_SECONDS, rest))
            asked = time.monotonic()
        return value

    def _waits_for_own_job(self) -> bool:
        """Whether a node says that a pod waits until another job of this namespace has ended."""
        if networks.may_make_networks():
            return False
        told = turn.WAITS.partition("{}")[0] + f"{self.namespace}/"
        return any(told in str(pod["status"]) for pod in self.items(CORE, "pods"))

    def wait_phase(self, name: str, *phases: str) -> Raw:
        """The job's status once its phase is one of these; fails when it ends otherwise."""

        def look() -> Raw | None:
            status = self.status(name)
            phase = status.get("phase", "")
            if phase in phases:
                return status
            assert phase not in ENDED, f"{name} is {phase}\n{self.report()}"
            return None

        return dict(self.wait(look, f"{name} {' or '.join(phases)}"))

    def wait_printed(self, *columns: str) -> None:
        """Wait until `kubectl get pdj` prints these first columns: its counts follow the pods."""

        def are_printed() -> bool:
            line = self.kubectl("get", "pdj", columns[0], "--no-headers").split()
            return tuple(line[: len(columns)]) == columns

        self.wait(are_printed, " ".join(columns))

    def wait_completed(self, name: str) -> Raw:
        return self.wait_phase(name, "Completed")

    def wait_all(self, names: Iterable[str], phase: str) -> None:
        """Wait for several jobs that run at once."""
        for name in names:
            self.wait_phase(name, phase)

    def report(self) -> str:
        """Jobs, pods and warnings, for a failure's message."""
        parts = []
        for arguments in (
            ("get", "pdj,pods", "-o", "wide"),
            ("get", "events", "--field-selector=type=Warning"),
            ("get", "pdj", "-o", "jsonpath={range .items[*]}{.metadata.name}: {.status}\n{end}"),
        ):
            try:
                parts.append(self.kubectl(*arguments))
            except LocalClusterError as error:
                parts.append(str(error))
        for pod in self.items(CORE, "pods"):
            if pod.get("status", {}).get("phase") == "Failed":
                parts.append(self._tail(pod["metadata"]["name"]))
        return "\n".join(parts)

    def _tail(self, pod: str) -> str:
        done = self.cluster.kubectl("-n", self.namespace, "logs", "--tail=20", pod, check=False)
        return f"--- {pod}:\n{done.stdout or done.stderr}"


def environment_of(text: str) -> dict[str, str]:
    """The variables that `env` has printed."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


def shell(script: str, /, **container: Any) -> Raw:
    """A pod template whose trainer container runs a shell script."""
    trainer = {"name": "paddle", "image": "busybox", "command": ["sh", "-c", script], **container}
    return {"spec": {"containers": [trainer]}}


def waiting_for_ever() -> Raw:
    """The template of pods that wait for a scheduler that there is not."""
    template = shell("true")
    template["spec"]["schedulerName"] = "nobody"
    return template


def paddle_job(name: str, roles: dict[str, tuple[int, Raw]], **spec: Any) -> Raw:
    """A PaddleJob with replicas and template by role."""
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name},
        "spec": {
            **spec,
            **{
                role: {"replicas": count, "template": template}
                for role, (count, template) in roles.items()
            },
        },
    }


SERVER = shell("exec sleep 3600")
"""A parameter server to the operator: it serves until it is stopped."""
