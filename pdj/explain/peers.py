"""Shows the last lines of the other pods if a pod failed because it waited for them in vain."""

from api.catalogue.meaning import Words
from api.constants import TERMINAL_PHASES
from api.objects import Raw, name_of
from api.status import Failure
from api.trainer import container_status, has_started, trainer_name
from kube.client import Client
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import log_path
from reconcile.words.fault import Fault, fault_of

MAX_PODS = 10
LINES, MAX_LINE = 3, 300
GONE: Words = (
    "gone with the pods; with spec.cleanPodPolicy: Never the next job keeps its pods",
    "已随 Pod 删除；在下一个作业中设置 spec.cleanPodPolicy: Never 可保留 Pod",
)


def waited_in_vain(failure: Failure) -> bool:
    """Whether the program failed because it waited for a peer in vain."""
    return fault_of(failure.message.partition("\n")[0]) is Fault.PEER


def peer_lines(client: Client, picture: JobPicture, failure: Failure) -> list[str] | list[Words]:
    """The last log lines of the other pods, MAX_PODS at most, each with its pod's name.

    If the job has ended and no other pod has a log, a line that says how to keep pods. Raises
    ApiError.
    """
    others = [pod for pod in picture.pods if name_of(pod) != failure.pod and _has_log(pod)]
    if not others and picture.job.status.phase in TERMINAL_PHASES:
        return [GONE]
    return [line for pod in others[:MAX_PODS] for line in _tail(client, picture, pod)]


def _tail(client: Client, picture: JobPicture, pod: Raw) -> list[str]:
    query = {"container": trainer_name(pod["spec"]), "tailLines": LINES}
    lines = client.text(log_path(picture.job.namespace, name_of(pod)), query).splitlines()
    return [f"{name_of(pod)}: {line[:MAX_LINE]}" for line in lines[-LINES:]]


def _has_log(pod: Raw) -> bool:
    return has_started(container_status(pod, trainer_name(pod.get("spec") or {})))
