"""Chooses which failed pod to name as the cause.

When a trainer dies, Gloo, NCCL or brpc ends its peers within moments. The pods of these peers often
end first, because the dead trainer's launcher checks it only once a second; finish times are whole
seconds, too. If all logs are about a lost peer, the other pods get some seconds to report a cause.
"""

from collections.abc import Sequence

from api.signals import SIGABRT
from api.status import CLOCK_SKEW
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View

BLAME_SECONDS = 5.0
"""How long after the first pod's end we wait for a peer whose log has the cause.

A launcher notices a dead trainer after 1 s, and gives its other processes 3 s to end. The kubelet
reports the pod's end a second later.
"""


def find_culprit(failed: Sequence[PodView]) -> PodView:
    """The failed pod to name: one with a device error, else the first.

    A device error makes peers fail with errors of their own, never the other way round.
    """
    return next((pod for pod in failed if is_of_hardware(pod)), failed[0])


def is_of_hardware(pod: PodView) -> bool:
    """Whether the pod's log says that a device of its node is at fault."""
    return pod.end is not None and pod.end.words.is_of_hardware


def seconds_to_blame(view: View, failed: Sequence[PodView]) -> float:
    """Seconds left for the pods that still run to report a cause; 0 if no cause is expected.

    None is expected if a pod is gone, because that is a cause by itself.
    """
    is_running = any(pod.state is PodState.RUNNING for pod in view.pods.values())
    if view.missing or not is_running or not tells_of_lost_peer(failed[0]):
        return 0.0
    ended_at = failed[0].end.finished_at if failed[0].end else None
    waited = (view.now - ended_at).total_seconds() if ended_at else BLAME_SECONDS
    if not -CLOCK_SKEW.total_seconds() <= waited < BLAME_SECONDS:
        return 0.0
    return BLAME_SECONDS - waited


def tells_of_lost_peer(pod: PodView) -> bool:
    """Whether its last lines only report a lost peer, or nothing says why it aborted.

    Gloo and NCCL abort if a peer is lost. A limit that the kubelet names is a cause by itself.
    """
    if pod.end is None or pod.ending.words:
        return False
    aborted = pod.end.signal == SIGABRT and not pod.end.words.says_why
    return aborted or pod.end.words.is_consequence
