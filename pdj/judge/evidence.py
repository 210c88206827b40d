"""What shows a finding: the lines of logs, nodes, quotas, queues and groups."""

from collections.abc import Callable, Iterator

from api.constants import LABEL_QUEUE, TERMINAL_PHASES, Reason, Role
from api.objects import Raw, condition_of, name_of
from api.status import Failure
from api.trainer import devices_of, most_devices, too_many_devices
from pdj.facts.facts import FAILED, GROUPS, PLACES, QUOTAS, Answer, Facts, Remark
from pdj.judge.story import Evidence
from reconcile.model.workload import has_quota

MAX_LINES = 10
"""The most lines of a log, nodes and owners of quota that are shown."""
MAX_PEER_LINES, MAX_PEER_LINE, MAX_LOG_LINE = 3, 300, 2000
GONE: Remark = (
    "gone with the pods; with spec.cleanPodPolicy: Never the next job keeps its pods",
    "已随 Pod 删除；在下一个作业中设置 spec.cleanPodPolicy: Never 可保留 Pod",
)


def evidence_of(facts: Facts, reason: str) -> Evidence:
    """The lines that show why, by their titles."""
    found: dict[str, Iterator[Remark]] = {}
    if facts.answer("etcd").is_missing and reason == facts.conditions[0].reason:
        found["etcd"] = _etcd(facts)
    if reason in FAILED and facts.failure:
        found |= {"lastLines": _last_lines(facts, facts.failure), "peers": _peers(facts)}
    if reason in PLACES:
        found["nodes"] = _nodes(facts)
    if reason in QUOTAS:
        found["quota"] = _each(facts.answer("quota"), _quota)
    if reason == Reason.QUEUED:
        found["queue"] = _queue(facts)
    if reason in GROUPS:
        found["group"] = _each(facts.answer("group"), _group)
    return {title: lines for title, lines in ((t, [*each]) for t, each in found.items()) if lines}


def _each(answer: Answer, describe: Callable[[Raw], Iterator[Remark]]) -> Iterator[Remark]:
    """The lines about each object that was read, then why there are no more."""
    for obj in answer.objects:
        yield from describe(obj)
    yield from answer.trouble


def _etcd(facts: Facts) -> Iterator[Remark]:
    """The Service that is missing, and the command that creates it."""
    name, namespace = facts.etcd or ("", "")
    command = f"kubectl -n {namespace} create -f manifests/elastic/etcd.yaml"
    yield (
        f"there is no Service {name} in namespace {namespace}, so launchers cannot meet: {command}",
        f"命名空间 {namespace} 中没有 Service {name}，启动器无法会合：{command}",
    )


def _last_lines(facts: Facts, last: Failure) -> Iterator[Remark]:
    """The end of the failed pod's log in the failure record, and the command that shows more."""
    job = facts.job
    yield from (line[:MAX_LOG_LINE] for line in last.message.splitlines()[-MAX_LINES:])
    # Users copy the command to a shell, and a role in the status can be any text.
    of_pod = f" --role {last.role} --index {last.index}" if last.role in [*Role] else ""
    command = f"kubectl pdj -n {job.namespace} logs {job.name}{of_pod} --attempt {last.attempt}"
    yield (f"more: {command}", f"更多：{command}")


def _peers(facts: Facts) -> Iterator[Remark]:
    """The last lines of the pods for which the failed one waited in vain."""
    if facts.is_peer_lost and not facts.peers and facts.job.status.phase in TERMINAL_PHASES:
        yield GONE
    for name in map(name_of, facts.peers):
        answer = facts.answer(f"log of {name}")
        lines = answer.text.splitlines()[-MAX_PEER_LINES:]
        yield from (f"{name}: {line[:MAX_PEER_LINE]}" for line in lines)
        yield from answer.trouble


def _nodes(facts: Facts) -> Iterator[Remark]:
    """Devices of which no node has enough, then some of the nodes."""
    answer = facts.answer("nodes")
    most = most_devices(map(devices_of, answer.objects))
    for role, spec in facts.job.spec.roles.items() if not answer.problem else ():
        for device, asked, has in too_many_devices(spec.pod_spec, most):
            yield (
                f"each pod of {role} asks for {device} {asked}, but no node has more than {has}: "
                "it never fits",
                f"{role} 的每个 Pod 请求 {device} {asked}，而单个节点最多有 {has}：永远放不下",
            )
    yield from _first([f"{name_of(node)}: {_describe(node)}" for node in answer.objects])
    yield from answer.trouble


def _describe(node: Raw) -> str:
    status, spec = node.get("status") or {}, node.get("spec") or {}
    has = ", ".join(
        f"{key} {value}"
        for key, value in (status.get("allocatable") or {}).items()
        if key in ("cpu", "memory") or "/" in key
    )
    notes = [] if condition_of(node, "Ready") else ["not ready"]
    notes += ["cordoned"] if spec.get("unschedulable") else []
    notes += [f"taint {each.get('key')}" for each in spec.get("taints") or ()]
    return has + "".join(f"; {note}" for note in notes)


def _quota(quota: Raw) -> Iterator[Remark]:
    """Used and allowed amounts."""
    status = quota.get("status") or {}
    used, hard = status.get("used") or {}, status.get("hard") or {}
    parts = [f"{key} {used.get(key, '0')}/{most}" for key, most in hard.items()]
    yield f"{name_of(quota)}: {', '.join(parts)}"


def _queue(facts: Facts) -> Iterator[Remark]:
    """The job's place in its queue, as far as that is known, then who has quota of it."""
    queue = facts.job.labels.get(LABEL_QUEUE, "")
    for found in facts.answer("place").objects:
        pending = found.get("items") or ()
        for each in pending:
            place = each.get("positionInLocalQueue")
            if name_of(each) == facts.job.workload_name and isinstance(place, int):
                yield f"{queue}: {place + 1} of {len(pending)}"
    holders = facts.answer("own holders" if facts.answer("holders").is_hidden else "holders")
    yield from _first([f"{queue} <- {_owner(each)}" for each in holders.objects if has_quota(each)])
    yield from facts.answer("queue").trouble or holders.trouble


def _owner(workload: Raw) -> str:
    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or [{"kind": "Workload", "name": metadata["name"]}]
    return f"{owners[0]['kind']} {metadata['namespace']}/{owners[0]['name']}"


def _group(group: Raw) -> Iterator[Remark]:
    spec, status = group.get("spec") or {}, group.get("status") or {}
    queue, least = spec.get("queue") or "default", spec.get("minMember")
    yield f"{name_of(group)}: queue {queue}, minMember {least}, {status.get('phase') or 'new'}"
    for condition in status.get("conditions") or ():
        yield f"{condition.get('type')}: {condition.get('message') or ''}"


def _first(lines: list[str]) -> Iterator[str]:
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"... {len(lines) - MAX_LINES} more"
