"""Everything that is read to explain a job, with its bounds. Pure: the answers so far lead on."""

from collections.abc import Iterator
from urllib.parse import quote

from api.constants import KUEUE_API_VERSION, LABEL_QUEUE, VOLCANO_API_VERSION, Reason
from api.job import PaddleJob, pod_name
from api.objects import Raw, name_of
from api.trainer import trainer_name
from pdj.facts.facts import EVENTS, GROUPS, PLACES, QUOTAS, Ask, Facts
from pdj.gather.paths import core_path, log_path
from pdj.gather.pods import read_pod

MAX_EVENTS, MAX_EVENT_PODS = 200, 16
"""Events of one object, and the pods whose Events are read: those that do not run come first."""
MAX_NODES, MAX_QUOTAS, MAX_WORKLOADS = 5000, 50, 500
HEAD_BYTES = 64 << 10
"""The beginning of a log: a launcher names its nodes when it starts."""
MAX_PEERS, PEER_LINES, PEER_BYTES = 10, 3, 8 << 10


def questions(facts: Facts) -> Iterator[tuple[str, Ask]]:
    """What to read, by name; more after each round of answers."""
    job, reasons, namespace = facts.job, facts.reasons, facts.job.namespace
    yield f"{EVENTS}the job", _events(namespace, f"involvedObject.uid={job.uid}")
    for name in _pods_in_trouble_first(facts)[:MAX_EVENT_PODS]:
        selector = f"involvedObject.kind=Pod,involvedObject.name={name}"
        yield f"{EVENTS}{name}", _events(namespace, selector)
    if facts.worker_0 is not None:
        yield "head", _log(job, facts.worker_0, limitBytes=HEAD_BYTES)
    if job.spec.is_elastic and job.status.failures and facts.etcd:
        name, home = facts.etcd
        yield "etcd", Ask(core_path(home, "services", name))
    for pod in facts.peers[:MAX_PEERS]:
        log = _log(job, pod, tailLines=PEER_LINES, limitBytes=PEER_BYTES)
        yield f"log of {name_of(pod)}", log
    if PLACES & reasons:
        yield "nodes", Ask(core_path("", "nodes"), limit=MAX_NODES)
    if QUOTAS & reasons:
        yield "quota", Ask(core_path(namespace, "resourcequotas"), limit=MAX_QUOTAS)
    if GROUPS & reasons and job.status.pod_group:
        root = f"/apis/{VOLCANO_API_VERSION}/namespaces/{namespace}"
        yield "group", Ask(f"{root}/podgroups/{quote(job.status.pod_group, safe='')}")
    yield from _of_kueue(facts)


def _of_kueue(facts: Facts) -> Iterator[tuple[str, Ask]]:
    job, queue = facts.job, facts.job.labels.get(LABEL_QUEUE, "")
    root = f"/apis/{KUEUE_API_VERSION}"
    own = f"{root}/namespaces/{job.namespace}"
    if facts.reasons & {Reason.QUEUED, Reason.EVICTED} or job.is_sent_away:
        yield "workload", Ask(f"{own}/workloads/{job.workload_name}")
    if Reason.QUEUED not in facts.reasons:
        return
    visible = f"/apis/visibility.{KUEUE_API_VERSION}/namespaces/{job.namespace}"
    yield "place", Ask(f"{visible}/localqueues/{queue}/pendingworkloads")
    yield "queue", Ask(f"{own}/localqueues/{queue}")
    for found in facts.answer("queue").objects:
        named = (found.get("spec") or {}).get("clusterQueue") or ""
        selector = f"status.admission.clusterQueue={named}"
        query = {"fieldSelector": selector}
        yield "holders", Ask(f"{root}/workloads", query, MAX_WORKLOADS)
        if facts.answer("holders").is_hidden:
            yield "own holders", Ask(f"{own}/workloads", query, MAX_WORKLOADS)


def _events(namespace: str, selector: str) -> Ask:
    return Ask(core_path(namespace, "events"), {"fieldSelector": selector}, MAX_EVENTS)


def _log(job: PaddleJob, pod: Raw, **query: int) -> Ask:
    container = trainer_name(pod.get("spec") or {})
    path = log_path(job.namespace, name_of(pod))
    return Ask(path, {"container": container, **query}, is_log=True)


def _pods_in_trouble_first(facts: Facts) -> list[str]:
    """The names of the job's pods: first those that do not run, then those that are gone."""
    pods = sorted(map(read_pod, facts.picture.pods), key=lambda pod: pod.is_running)
    there = [pod.name for pod in pods]
    running = sum(pod.is_running for pod in pods)
    gone = [
        name
        for role, spec in facts.job.spec.roles.items()
        for index in range(min(spec.replicas, MAX_EVENT_PODS))
        if (name := pod_name(facts.job.name, role, index)) not in there
    ]
    return there[: len(there) - running] + gone + there[len(there) - running :]
