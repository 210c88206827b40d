"""Port ranges for pods on the host's network, written to status right before pods are created.

A job returns its ranges when it is suspended and when an attempt ends. While creates are refused,
it returns those of missing pods, unless its ConfigMap has published them. The jobs of a namespace
can use at most its share of all ranges.

Ranges start at multiples of their size above the configured start, so two of them are equal or
disjoint. The scheduler keeps pods with equal ranges on different nodes, because the first port of
each range is a hostPort.
"""

import zlib
from dataclasses import replace

from api.constants import PORTS_PER_POD, Intranet, Reason
from reconcile.model.hold import Hold, Stop
from reconcile.model.move import Move
from reconcile.model.view import View

PORTS_RETRY_SECONDS = 30.0
"""How often to retry: ranges become free when another job ends, which does not wake this one."""


def allocate_ports(view: View) -> Move | Hold | None:
    """A move to the status with the ranges that the job gets now, or the wait for free ranges."""
    if not view.host_roles or view.is_adopted:
        return None
    ports = _kept(view)
    stops = any(hold.stops for hold in view.holds)
    if not stops:
        ports |= _given(view, ports)
    if ports != view.job.status.host_ports:
        return Move(replace(view.job.status, attempt=view.attempt, host_ports=ports))
    if stops or sum(name in ports for name in _names(view)) >= _least(view):
        return None
    is_asked = view.job.spec.intranet is Intranet.HOST
    leave = "use intranet: PodIP" if is_asked else "leave out hostNetwork"
    cause, next_step = _explain_shortage(view), f"wait for other jobs to end, or {leave}"
    return Hold(Reason.NO_FREE_PORTS, cause, next_step, PORTS_RETRY_SECONDS, Stop.PODS)


def seconds_to_ports(view: View, name: str) -> float:
    """Seconds until the job tries again to get this pod's range; 0 unless the pod lacks it."""
    if not view.host_roles or name in view.job.status.host_ports:
        return 0.0
    return PORTS_RETRY_SECONDS


def _explain_shortage(view: View) -> str:
    low, high = view.settings.host_port_range
    limit, others = _namespace_limit(view), view.observed.namespace_host_ports
    least = _least(view)
    is_bounded = limit < len(_all_bases(view))
    if is_bounded and least > limit:
        most = f"at most {limit} (the operator's --host-port-share)"
        return f"the job needs {least} port ranges, and one namespace may use {most}"
    if is_bounded and others + least > limit:
        return f"no free port ranges left for this namespace: {others} of {limit} are in use in it"
    return f"no free port ranges left in {low}-{high}"


def free_bases(view: View) -> list[int]:
    """Free first ports, starting at an offset derived from the job, so that jobs spread out."""
    bases = _all_bases(view)
    turn = zlib.crc32(view.job.uid.encode()) % max(1, len(bases))
    taken = view.observed.taken_host_ports
    return [base for base in bases[turn:] + bases[:turn] if base not in taken]


def _kept(view: View) -> dict[str, int]:
    """Ranges of pods that exist or can still be created.

    While creates pause, missing pods lose theirs, unless the ConfigMap has published them.
    """
    pausing = view.pause_seconds > 0 and view.config_map is None
    refused = frozenset(view.missing) if pausing else frozenset()
    needed = {pod.name for pod in view.all_pods} | (set(_names(view)) - refused)
    return {name: base for name, base in view.job.status.host_ports.items() if name in needed}


def _given(view: View, kept: dict[str, int]) -> dict[str, int]:
    """New ranges for all pods without one; an elastic job takes as many as are free."""
    new = [name for name in _names(view) if name not in kept]
    bases = [base for base in free_bases(view) if base not in kept.values()]
    others = view.observed.namespace_host_ports
    free = min(len(bases), max(0, _namespace_limit(view) - others - len(kept)))
    if len(kept) + free < _least(view):
        return {}
    return dict(zip(new, bases[:free], strict=False))


def _names(view: View) -> list[str]:
    """The wanted pods on the host's network."""
    return [name for name, (role, _) in view.wanted.items() if role in view.host_roles]


def _least(view: View) -> int:
    """The fewest ranges with which the job works."""
    return min(len(_names(view)), view.job.spec.least_replicas)


def _namespace_limit(view: View) -> int:
    """How many ranges the jobs of one namespace can use; at least one."""
    return max(1, int(len(_all_bases(view)) * view.settings.host_port_share))


def _all_bases(view: View) -> list[int]:
    low, high = view.settings.host_port_range
    return list(range(low, high - PORTS_PER_POD + 2, PORTS_PER_POD))
