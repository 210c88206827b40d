"""Remembers the port ranges that each job's latest pass has given to the job. Thread-safe.

The store does not show them yet, but no other job must get them. A restart of the operator loses
this memory. That can cause a conflict, which the next pass resolves.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from api.constants import Intranet, Role
from api.objects import Raw
from api.ownership import Key
from controller.cache.store import Store, key_of
from controller.client.resources import PADDLE_JOB
from reconcile.model.plan import Observed, Plan


class PortRanges:
    """The ranges that jobs on the host's network were given, under one lock."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        """Held while ranges are chosen, so that jobs get different ones. Nothing is sent then."""
        self._given: dict[Key, tuple[int, ...]] = {}
        """The ports that a job's latest pass gave it."""

    def decide(self, observed: Observed, decide: Callable[[Observed], Plan]) -> Plan:
        """Call `decide` and return its plan.

        If the job is on the host's network, `decide` also gets the ports of all other jobs, and the
        ports that the plan gives are remembered.
        """
        key = key_of(observed.job)
        with self._lock:
            if not _needs_ports(observed.job["spec"]):
                self._given.pop(key, None)
            else:
                plan = decide(self._with_taken(key, observed))
                self._given[key] = plan.given_host_ports
                return plan
        return decide(observed)

    def forget(self, job: Key) -> None:
        """Forget a job that is gone."""
        with self._lock:
            self._given.pop(job, None)

    def _with_taken(self, own: Key, observed: Observed) -> Observed:
        taken: set[int] = set()
        in_namespace = 0
        for key, facts in self._store.facts(PADDLE_JOB):
            if key != own:
                ports = {*facts.host_ports, *self._given.get(key, ())}
                taken |= ports
                in_namespace += len(ports) if key.namespace == own.namespace else 0
        return replace(
            observed, taken_host_ports=frozenset(taken), namespace_host_ports=in_namespace
        )


def _needs_ports(spec: Raw) -> bool:
    """Whether pods of the job are perhaps on the host's network, as `JobSpec.host_roles` says."""
    pods = (spec[role]["template"]["spec"] for role in Role if spec.get(role))
    return spec.get("intranet") == Intranet.HOST or any(pod.get("hostNetwork") for pod in pods)
