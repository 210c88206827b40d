"""Collects everything that is needed to help with a job, as named files.

Secrets are never read. Unless requested, the values of variables and HTTP headers are left out, and
also the annotation in which `kubectl apply` keeps a copy of the object.
"""

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
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
OPERATOR_LINES: Query = {"tailLines": 20_000, "limitBytes": MAX_LOG_BYTES}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USUAL_NAMESPACE = "paddle-system"
"""If no binding of the operator can be read, only its pods in this namespace are trusted."""
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
    """A copy without APPLIED, in which values of variables and HTTP headers are "(redacted)"."""
    if isinstance(obj, list):
        return [redact(each) for each in obj]
    if not isinstance(obj, dict):
        return obj
    made = {key: redact(value) for key, value in obj.items() if key != APPLIED}
    for field in ("env", "httpHeaders"):
        if isinstance(obj.get(field), list):
            made[field] = [_without_value(each) for each in made[field]]
    return made


def _without_value(variable: Any) -> Any:
    if isinstance(variable, dict) and "value" in variable:
        return {**variable, "value": REDACTED}
    return variable


def _logs(client: Client, namespace: str, pod: Raw, problems: list[str]) -> Iterator[File]:
    """The log of every container that has started, and the log of its previous run, if any."""
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
    """The lines about the job in the operator's log, as far as that can be read."""
    query: Query = {"labelSelector": OPERATOR}
    own = key.partition("/")[0]
    pods = _try(problems, "operator", lambda: client.list(core_path("", "pods"), query)[0])
    if pods is None:  # perhaps the operator is in the job's namespace
        pods = _try(problems, "operator", lambda: client.list(core_path(own, "pods"), query)[0])
    paths = (f"{RBAC}/clusterrolebindings", f"{RBAC}/namespaces/{own}/rolebindings")
    lists = (_try([], "", lambda path=path: client.list(path, query)[0]) for path in paths)
    accounts = {each for found in lists for binding in found or () for each in _accounts(binding)}
    lines = []
    for pod in pods or []:
        namespace = str(pod["metadata"]["namespace"])
        account = (namespace, str((pod.get("spec") or {}).get("serviceAccountName")))
        if account not in accounts and (accounts or namespace != USUAL_NAMESPACE):
            # Anybody can give a pod the operator's label.
            why = (
                "no ClusterRoleBinding of the operator, and no RoleBinding in the job's namespace, "
                "names the pod's ServiceAccount"
            )
            problems.append(f"operator.log: {namespace}/{name_of(pod)} is not read: {why}")
            continue
        path = log_path(namespace, name_of(pod))
        ask = partial(client.text, path, OPERATOR_LINES)
        text = _try(problems, "operator.log", ask) or ""
        lines += [line for line in text.splitlines() if f'"{key}"' in line or f"{key} " in line]
    return "".join(f"{line}\n" for line in lines)


def _accounts(binding: Raw) -> Iterator[tuple[str, str]]:
    """Namespace and name of each ServiceAccount that the binding names.

    RoleBindings in the job's namespace are trusted like ClusterRoleBindings: whoever can create
    them can change the job and its logs anyway.
    """
    for subject in binding.get("subjects") or ():
        if subject.get("kind") == "ServiceAccount":
            yield str(subject.get("namespace")), str(subject.get("name"))


def _try(problems: list[str], what: str, ask: Callable[..., Any]) -> Any:
    try:
        return ask()
    except ApiError as error:
        problems.append(f"{what}: {error.message}")
        return None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
