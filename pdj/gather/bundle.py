"""Collects everything that somebody who helps with a job needs, as named files.

Secrets are never read. Values of variables are left out unless requested, including those in
`kubectl apply`'s annotation.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from api.objects import Raw, name_of, uid_of
from api.trainer import container_statuses
from kube.client import Client, Query
from kube.errors import ApiError
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import core_path, log_path

REDACTED = "(redacted)"
MAX_LOG_BYTES = 10 << 20
OPERATOR = "app.kubernetes.io/name=paddlejob-operator"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

File = tuple[str, str]


def collect(client: Client, picture: JobPicture, with_env: bool) -> Iterator[File]:
    """Name and text of each file. The last one, `problems.txt`, lists what could not be read."""
    namespace, name = picture.job.namespace, picture.job.name
    problems: list[str] = [picture.pods_problem] if picture.pods_problem else []
    hide = copy.deepcopy if with_env else redact
    yield "job.json", _json(hide(picture.raw))
    for pod in picture.pods:
        yield f"pods/{name_of(pod)}.json", _json(hide(pod))
        yield from _logs(client, namespace, pod, problems)
    uids = {uid_of(each) for each in (picture.raw, *picture.pods)}
    events = _try(problems, "events", lambda: client.list(core_path(namespace, "events"))[0]) or []
    about = [e for e in events if (e.get("involvedObject") or {}).get("uid") in uids]
    yield "events.json", _json(about)
    used = {(pod.get("spec") or {}).get("nodeName") for pod in picture.pods} - {None}
    nodes = _try(problems, "nodes", lambda: client.list(core_path("", "nodes"))[0]) or []
    yield "nodes.json", _json([node for node in nodes if name_of(node) in used])
    yield "operator.log", _operator_log(client, f"{namespace}/{name}", problems)
    yield "problems.txt", "".join(f"{line}\n" for line in problems)


def redact(obj: Any) -> Any:
    """A copy without the values of variables."""
    if isinstance(obj, list):
        return [redact(each) for each in obj]
    if not isinstance(obj, dict):
        return obj
    made = {key: redact(value) for key, value in obj.items() if key != APPLIED}
    if isinstance(obj.get("env"), list):
        made["env"] = [_without_value(each) for each in made["env"]]
    return made


def _without_value(variable: Any) -> Any:
    if isinstance(variable, dict) and "value" in variable:
        return {**variable, "value": REDACTED}
    return variable


def _logs(client: Client, namespace: str, pod: Raw, problems: list[str]) -> Iterator[File]:
    """The logs of every container that has started, and of its run before."""
    path = log_path(namespace, name_of(pod))
    for status in container_statuses(pod):
        container, state = str(status.get("name")), status.get("state") or {}
        runs: dict[str, Query] = (
            {"": {}} if "waiting" not in state or status.get("lastState") else {}
        )
        runs |= {"-previous": {"previous": "true"}} if status.get("restartCount") else {}
        for suffix, more in runs.items():
            file = f"logs/{name_of(pod)}-{container}{suffix}.log"
            query = {"container": container, "limitBytes": MAX_LOG_BYTES, "timestamps": "true"}
            query |= more
            text = _try(problems, file, lambda query=query: client.text(path, query))
            if text is not None:
                yield file, text


def _operator_log(client: Client, key: str, problems: list[str]) -> str:
    """The operator's lines about the job, as far as its log can be read."""
    query = {"labelSelector": OPERATOR}
    pods = _try(problems, "operator", lambda: client.list(core_path("", "pods"), query)[0]) or []
    lines = []
    for pod in pods:
        namespace = str(pod["metadata"]["namespace"])
        path = log_path(namespace, name_of(pod))
        text = _try(problems, "operator.log", lambda path=path: client.text(path, {})) or ""
        lines += [line for line in text.splitlines() if f'"{key}"' in line or f"{key} " in line]
    return "".join(f"{line}\n" for line in lines)


def _try(problems: list[str], what: str, ask: Callable[..., Any]) -> Any:
    try:
        return ask()
    except ApiError as error:
        problems.append(f"{what}: {error.message}")
        return None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
