"""Port ranges for `intranet: Host`, one per pod, written to status before any pod is made.

Ranges start at multiples of their size above the configured start, so two of them are equal or
disjoint. The scheduler keeps equal ones off the same node: the first port of each is a hostPort.
"""

import zlib
from dataclasses import replace

from api.constants import PORTS_PER_POD, Intranet
from reconcile.transition import Transition
from reconcile.view import View

PORTS_RETRY_SECONDS = 30.0
"""Ranges become free when another job ends, which does not wake this one."""


def find_allocation(view: View) -> Transition | None:
    """The status with a range for every wanted pod; None if all have one, or too few are free."""
    if not needs_ports(view):
        return None
    held = view.job.status.host_ports
    kept = {name: held[name] for name in view.wanted if name in held}
    new = [name for name in view.wanted if name not in held]
    bases = [base for base in free_bases(view) if base not in kept.values()]
    if len(bases) < len(new):
        return None
    ports = kept | dict(zip(new, bases, strict=False))
    return Transition(replace(view.job.status, attempt=view.attempt, host_ports=ports))


def needs_ports(view: View) -> bool:
    """Whether a Host job has pods without a range."""
    if view.job.spec.intranet is not Intranet.HOST:
        return False
    return any(name not in view.job.status.host_ports for name in view.wanted)


def free_bases(view: View) -> list[int]:
    """Free first ports, beginning at a place that depends on the job, so that jobs spread."""
    low, high = view.settings.host_port_range
    bases = list(range(low, high - PORTS_PER_POD + 2, PORTS_PER_POD))
    if not bases:
        return []
    turn = zlib.crc32(view.job.uid.encode()) % len(bases)
    taken = view.observed.taken_host_ports
    return [base for base in bases[turn:] + bases[:turn] if base not in taken]
