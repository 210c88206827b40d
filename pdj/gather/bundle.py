"""Collects everything that is needed to help with a job, as named files.

Secrets are never read. Unless requested, the values of variables and HTTP headers are left out, and
also the annotation in which `kubectl apply` keeps a copy of the object.
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from api.objects import Raw, name_of, namespace_of, uid_of
from api.trainer import container_statuses
from kube.client import Client, Query
from kube.errors import ApiError
from pdj.errors import Problem
from pdj.facts.picture import JobPicture
from pdj.gather.paths import core_path, log_path

REDACTED = "(redacted)"
MAX_LOG_BYTES, LOG_SECONDS = 10 << 20, 60.0
OPERATOR = "app.kubernetes.io/name=paddlejob-operator"
OPERATOR_LINES: Query = {"tailLines": 20_000, "limitBytes": MAX_LOG_BYTES}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USUAL_NAMESPACE = "paddle-system"
"""If no binding of the operator can be read, only its pods in this namespace are trusted."""
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

MAX_PROBLEM = 2000

File = tuple[str, str]
Read = Callable[[], str | None]
"""Returns None if there is no such part."""


def collect(
    client: Client, picture: JobPicture, with_env: bool, more: Mapping[str, Read] = {}
) -> Iterator[File]:
    """Name and text of each file, of `more` too. The last one, `problems.txt`, lists what could
    not be read: no failure of one part keeps the others out.
    """
    raw, problems = picture.raw, [picture.pods_problem] if picture.pods_problem else []
    namespace, name = namespace_of(raw), name_of(raw)
    hide = copy.deepcopy if with_env else redact
    parts: dict[str, Read] = {"job.json": lambda: _json(hide(raw)), **more}
    for pod in picture.pods:
        parts[f"pods/{name_of(pod)}.json"] = partial(lambda pod: _json(hide(pod)), pod)
        logs = _try(problems, f"logs/{name_of(pod)}", partial(_logs, client, namespace, pod))
        parts |= logs or {}
    parts |= {
        "events.json": lambda: _json(_events(client, namespace, (raw, *picture.pods))),
        "nodes.json": lambda: _json(_nodes(client, picture.pods)),
        "operator.log": lambda: _operator_log(client, f"{namespace}/{name}", problems),
    }
    for file, read in parts.items():
        text = _try(problems, file, read)
        if text is not None:
            yield file, text
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


def _logs(client: Client, namespace: str, pod: Raw) -> dict[str, Read]:
    """The log of every container that has started, and the log of its previous run, if any."""
    path, found = log_path(namespace, name_of(pod)), dict[str, Read]()
    for status in container_statuses(pod):
        container, state = str(status.get("name")), status.get("state") or {}
        runs: dict[str, Query] = (
            {"": {}} if "waiting" not in state or status.get("lastState") else {}
        )
        runs |= {"-previous": {"previous": "true"}} if status.get("restartCount") else {}
        for suffix, more in runs.items():
            file = f"logs/{name_of(pod)}-{container}{suffix}.log"
            query = {"container": container, "limitBytes": MAX_LOG_BYTES, "timestamps": "true"}
            found[file] = partial(_log, client, path, query | more)
    return found


def _log(client: Client, path: str, query: Query) -> str:
    return client.read_log(path, query, LOG_SECONDS).decode(errors="replace")


def _events(client: Client, namespace: str, about: tuple[Raw, ...]) -> list[Raw]:
    """Those of each object, for a namespace can have very many of others."""
    asks = ({"fieldSelector": f"involvedObject.uid={uid_of(each)}"} for each in about)
    return [each for ask in asks for each in client.list(core_path(namespace, "events"), ask)[0]]


def _nodes(client: Client, pods: tuple[Raw, ...]) -> list[Raw]:
    used = {str((pod.get("spec") or {}).get("nodeName") or "") for pod in pods} - {""}
    found = (client.find(core_path("", "nodes", name)) for name in sorted(used))
    return [node for node in found if node]


def _operator_log(client: Client, key: str, problems: list[str]) -> str:
    """The lines about the job in the operator's log, as far as that can be read."""
    query: Query = {"labelSelector": OPERATOR}
    own = key.partition("/")[0]
    pods = _try(problems, "operator", lambda: client.list(core_path("", "pods"), query)[0])
    if pods is None:  # perhaps the operator is in the job's namespace
        pods = _try(problems, "operator", lambda: client.list(core_path(own, "pods"), query)[0])
    paths = (f"{RBAC}/clusterrolebindings", f"{RBAC}/namespaces/{own}/rolebindings")
    lists = (_try([], "", partial(client.list, path, query)) for path in paths)
    bindings = [each for found in lists for each in (found or ((), ""))[0]]
    accounts = {each for binding in bindings for each in _accounts(binding)}
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
        ask = partial(_log, client, path, OPERATOR_LINES)
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


def _try(problems: list[str], what: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:  # also one that nobody has thought of
        kind = "" if isinstance(error, ApiError | Problem) else f"{type(error).__name__}: "
        problems.append(f"{what}: {kind}{' '.join(str(error).split())[:MAX_PROBLEM]}")
        return None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
