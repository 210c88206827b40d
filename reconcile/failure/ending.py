"""Says how a pod has ended: a sentence for conditions and Events, and a record's message."""

from api.objects import condition_of
from api.signals import SIGKILL, is_of_child, signal_name
from api.status import Failure
from api.trainer import container_status
from reconcile.model.end import DISRUPTION_TARGET, OUT_OF_MEMORY, ContainerEnd
from reconcile.model.pods import PodView
from reconcile.model.view import View
from reconcile.words.cause import NOTHING_KEPT

MAX_ENDING_CHARACTERS = 400
MAX_RECORD_CHARACTERS = 1024
"""The limit of a record's message: the line with the cause, and as many last lines as fit."""
PLAIN_REASONS = ("", "Error", "Completed")
"""With these reasons, the program ended by itself or by a signal. Others say what happened."""
_EXITED = "exited with code "
_FAILED = "failed with "
_RUNTIME_WORDS = "start container process: "
"""A container runtime names its layers before these words, and the cause after them."""


def describe_end(view: View, pod: PodView, others: int = 0) -> str:
    """One sentence: which pod, on which node, how it ended, how many others failed, and why."""
    where = f" on {pod.node}" if pod.node else ""
    followed = f", and {others} other{'s' * (others > 1)} failed, too" if others else ""
    if pod.end is None or pod.ending.words:
        message = (pod.raw.get("status") or {}).get("message") or ""
        said = pod.ending.words or message or "its node does not say why"
        return f"{pod.name}{where} failed{followed}: {said}"
    cause = _cause(view, pod, pod.end)
    said = describe_disruption(pod) or (f": {cause}" if cause else "")
    return f"{pod.name}{where} {_how(view, pod, pod.end)}{followed}{said}"


def describe_disruption(pod: PodView) -> str:
    """Who ends a pod, and why, if its condition says so: `: PreemptionByScheduler: preempting ...`.

    Empty if the pod has no such condition, or had ended before.
    """
    told = condition_of(pod.raw, DISRUPTION_TARGET)
    if told is None or not pod.ending.is_of_others:
        return ""
    words = (str(told.get(key) or "").rstrip(". ") for key in ("reason", "message"))
    return "".join(f": {each}" for each in words if each)


def describe_record(record: Failure) -> str:
    """One sentence about a pod that is gone, from its record."""
    where = f" on {record.node}" if record.node else ""
    first, *_ = record.message.splitlines() or [""]
    how = f"{record.ending}: " if record.ending else ""
    return f"{record.pod}{where} {how}{first}"


def record_words(view: View, pod: PodView) -> tuple[str, str]:
    """A record's message, and how the pod ended if the message does not say that.

    The message is the line with the cause, then the last log lines; or, without a log, how the pod
    ended. Both are empty if no container has ended.
    """
    if pod.end is None or pod.ending.words:
        return pod.ending.words and f"failed: {pod.ending.words}", ""
    words, how = pod.end.words, _how(view, pod, pod.end)
    if not words.cause:
        return how, ""
    cause = _cause(view, pod, pod.end)
    says_how = _says_enough(pod.end) or not cause
    first = ": ".join(filter(None, (how if says_how else "", cause)))
    rest = list(words.lines)
    if cause in rest:
        del rest[len(rest) - 1 - rest[::-1].index(cause)]
    return _bounded(first, "\n".join(rest)), "" if says_how else how


def _how(view: View, pod: PodView, end: ContainerEnd) -> str:
    how = _how_it_ended(view, pod, end)
    if end.is_trainer:
        return how
    return f"{'runs, but' if pod.has_started else 'did not start:'} {end.container} {how}"


def _how_it_ended(view: View, pod: PodView, end: ContainerEnd) -> str:
    limit = _memory_limit(view, pod, end.container)
    if end.reason == OUT_OF_MEMORY:
        return f"ran out of memory ({', '.join(filter(None, (OUT_OF_MEMORY, limit)))})"
    if end.reason not in PLAIN_REASONS:
        return f"{_FAILED}{end.reason}"
    if end.signal is None:
        return f"{_EXITED}{end.exit_code}"
    often = f" ({', '.join(filter(None, ('often out of memory', limit)))})"
    is_unexplained = end.signal == SIGKILL and not pod.ending.is_of_others
    by = f"was ended by {signal_name(end.signal)}{often * is_unexplained}"
    of_child = f"{_EXITED}{end.exit_code}: one of its processes "
    return f"{of_child if is_of_child(end.exit_code) else ''}{by}"


def _cause(view: View, pod: PodView, end: ContainerEnd) -> str:
    """The cause in the log; empty for SIGKILL, which no log explains.

    It is also empty if the end says enough and the log has no error.
    """
    words = end.words
    cause = words.cause
    if cause == NOTHING_KEPT:
        logs = f"kubectl -n {view.job.namespace} logs {pod.name} -c {end.container}"
        cause = f"{cause}; the pod's log has the cause: {logs}"
    if end.reason not in (*PLAIN_REASONS, OUT_OF_MEMORY):
        cause = cause.rpartition(_RUNTIME_WORDS)[2].removesuffix(": unknown")
    elif end.signal == SIGKILL or (_says_enough(end) and not words.is_error):
        return ""
    if len(cause) > MAX_ENDING_CHARACTERS:
        return cause[: MAX_ENDING_CHARACTERS - 1] + "…"
    return cause


def _says_enough(end: ContainerEnd) -> bool:
    """Whether the signal or the kubelet's reason explains the failure; an exit code does not."""
    return end.signal is not None or end.reason not in PLAIN_REASONS


def _memory_limit(view: View, pod: PodView, container: str) -> str:
    """The container's memory limit, as `limit 2Gi`; empty if it has none.

    Its kubelet knows the limit best (1.33 and later), because admission or a resize in place can
    have changed that of the template.
    """
    given = container_status(pod.raw, container).get("resources")
    template = view.job.spec.roles[pod.role].pod_spec if pod.role in view.job.spec.roles else {}
    every = (*(template.get("initContainers") or ()), *(template.get("containers") or ()))
    asked = next((c.get("resources") for c in every if c.get("name") == container), None)
    limit = ((given or asked or {}).get("limits") or {}).get("memory")
    return f"limit {limit}" if limit else ""


def _bounded(first: str, rest: str) -> str:
    room = MAX_RECORD_CHARACTERS - len(first) - 1
    if len(rest) > room:
        rest = rest[-room:]
        rest = rest.partition("\n")[2] or rest
    return f"{first}\n{rest}" if rest else first
