"""Puts the machine together, starts it in order, and takes it down in order.

    API server ──watch──> reflector ──> informer ──> store
                                           │ key       │ family
                                           v           v
    API server <──write── applier <────── worker <── queue

One object per process. `run` is the main thread's and returns the exit code; `stop` any thread's.
"""

import os
import random
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from api.constants import FAILURE_REASONS, LABEL_JOB_UID
from controller.applier import MAX_PARALLEL, Applier
from controller.census import take_census
from controller.client import ApiClient, Connection
from controller.clock import Clock
from controller.events import EventRecorder
from controller.expectations import Expectations
from controller.health import DISABLED, HealthServer, Route, check, exposition
from controller.informer import Informer
from controller.leader import REQUEST_TIMEOUT_SECONDS, Candidate, LeaderElector
from controller.logs import Log
from controller.observe import Observer
from controller.options import Options
from controller.queue import WorkQueue
from controller.reflector import Reflector, Scope
from controller.refusals import Refusals
from controller.resources import (
    CONFIG_MAP,
    GANG_POD_GROUP,
    NODE,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    Resource,
)
from controller.store import Store
from controller.threads import Threads
from controller.worker import Decide, Machine, Worker
from metrics import Metrics

SYNC_SECONDS = 120.0
"""The caches must be full by then, or the process ends."""
DRAIN_SECONDS = 20.0
"""How long passes under way may take at the end; below a pod's usual grace of 30 s."""
EVENTS_SECONDS = 0.5
"""For the Events that are still to send; a successor waits meanwhile."""
JOIN_SECONDS = 5.0
EXIT_FAILED = 1
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Foundation:
    """What everything else is built on."""

    options: Options
    connection: Connection
    clock: Clock
    log: Log
    metrics: Metrics


class Manager:
    """The operator. `die` ends the process at once, when a thread or the lease is lost."""

    def __init__(
        self,
        foundation: Foundation,
        decide: Decide,
        die: Callable[[], None] = lambda: os._exit(EXIT_FAILED),
    ) -> None:
        self._base = foundation
        self._stop = threading.Event()
        self._threads = Threads(foundation.clock, foundation.log, die)
        self._store = Store(resource for resource, _ in _watched(foundation.options.namespace))
        self._queue = WorkQueue(foundation.clock, foundation.metrics.queue)
        self._reflectors = self._build_reflectors()
        self._elector = self._build_elector(die)
        self._recorder, self._machine = self._build_machine(decide)
        self._servers = [HealthServer(*item) for item in self._routes().items()]

    def run(self) -> int:
        """Start everything, wait for `stop`, end everything; the process's exit code."""
        options, threads = self._base.options, self._threads
        self._base.metrics.jobs.preset_failures(FAILURE_REASONS)
        self._base.metrics.count_state(lambda: take_census(self._store))
        # Health first: a kubelet asks while the caches still fill.
        for server in self._servers:
            threads.start(f"serve-{server.port}", server.run)
        for reflector in self._reflectors.values():
            threads.start(f"watch-{reflector.kind}", reflector.run)
        if not self._wait_for_caches():
            self._end()
            return 0 if self._stop.is_set() else EXIT_FAILED
        # After the caches: a standby has them warm, and works the moment it leads.
        if self._elector is not None:
            threads.start("elect", self._elector.run)
            self._wait_until(self._elector.acquired.is_set)
        # Workers last: they must neither see an empty cache nor write without the lease.
        if not self._stop.is_set():
            threads.start("events", self._recorder.run)
            self._base.metrics.reconcile.set_workers(options.workers)
            for number in range(options.workers):
                threads.start(f"worker-{number}", Worker(self._machine, self._base.log).run)
            self._base.log.info("working", workers=options.workers)
        self._stop.wait()
        self._end()
        return 0

    def stop(self) -> None:
        """Begin the end; `run` returns when it is over. A signal handler may call."""
        self._stop.set()

    @property
    def ports(self) -> list[int]:
        """Ports of the health and metrics servers."""
        return [server.port for server in self._servers]

    def _end(self) -> None:
        """The start backwards: stop writing, release the lease, stop watching."""
        self._threads.expect_returns()
        self._queue.shut_down()
        self._machine.applier.stop()
        is_drained = self._queue.drain(DRAIN_SECONDS)
        self._recorder.stop()
        self._threads.join_one("events", EVENTS_SECONDS)
        if not is_drained:
            # Something may still write: the lease is left to expire instead of handed over.
            self._base.log.warning("not_drained", seconds=DRAIN_SECONDS)
        elif self._elector is not None:
            self._elector.stop()
        for reflector in self._reflectors.values():
            reflector.stop()
        for server in self._servers:
            server.stop()
        self._machine.applier.close()
        left = self._threads.join(JOIN_SECONDS)
        self._base.log.info("stopped", threads_left=left)

    def _wait_for_caches(self) -> bool:
        """Whether every cache is full before the deadline, and before a stop."""
        full = self._wait_until(
            lambda: all(r.has_listed for r in self._reflectors.values()), SYNC_SECONDS
        )
        if not full and not self._stop.is_set():
            empty = [r.kind for r in self._reflectors.values() if not r.has_listed]
            self._base.log.error("caches_not_synced", kinds=empty, seconds=SYNC_SECONDS)
        return full

    def _wait_until(self, is_done: Callable[[], bool], seconds: float = float("inf")) -> bool:
        deadline = self._base.clock.monotonic() + seconds
        while not is_done():
            if self._stop.wait(_POLL_SECONDS) or self._base.clock.monotonic() > deadline:
                return False
        return True

    # Building

    def _build_reflectors(self) -> dict[Resource, Reflector]:
        base = self._base
        watched = _watched(base.options.namespace)
        client = ApiClient(base.connection, base.metrics, pool_size=len(watched) + 4)
        return {
            resource: Reflector(
                client,
                Informer(resource, self._store, self._queue),
                scope,
                base.clock,
                base.metrics.client,
                base.log,
            )
            for resource, scope in watched
        }

    def _build_elector(self, die: Callable[[], None]) -> LeaderElector | None:
        base, options = self._base, self._base.options
        if not options.leader_elect:
            return None
        identity = f"{socket.gethostname()}_{os.getpid()}_{random.getrandbits(32):08x}"
        candidate = Candidate(options.leader_election_namespace, options.lease_name, identity)
        # A client of its own: renewals must not queue behind the pods of a wide job.
        client = ApiClient(
            base.connection,
            base.metrics,
            pool_size=2,
            read_timeout_seconds=REQUEST_TIMEOUT_SECONDS,
        )
        return LeaderElector(client, candidate, base.clock, base.metrics, base.log, die)

    def _build_machine(self, decide: Decide) -> tuple[EventRecorder, Machine]:
        base = self._base
        threads = base.options.workers + MAX_PARALLEL
        writes = self._elector.write_seconds if self._elector else lambda: float("inf")
        client = ApiClient(base.connection, base.metrics, threads + 4, writes)
        expectations = Expectations(self._store, base.clock)
        refusals = Refusals(base.clock)
        is_crowded = self._queue.is_crowded
        recorder = EventRecorder(client, base.clock, base.metrics, base.log, is_crowded)
        observer = Observer(
            self._store, refusals, base.options.settings, self._is_served, base.clock
        )
        applier = Applier(client, expectations, recorder, base.metrics, is_crowded)
        machine = Machine(
            queue=self._queue,
            store=self._store,
            observer=observer,
            expectations=expectations,
            refusals=refusals,
            applier=applier,
            clock=base.clock,
            metrics=base.metrics,
            decide=decide,
        )
        return recorder, machine

    def _routes(self) -> dict[str, dict[str, Route]]:
        """Paths by address; one server where both addresses are the same."""
        routes: dict[str, dict[str, Route]] = {}
        for address, own in (
            (self._base.options.health_probe_bind_address, self._health_routes()),
            (
                self._base.options.metrics_bind_address,
                {"/metrics": exposition(self._base.metrics)},
            ),
        ):
            if address != DISABLED:
                routes.setdefault(address, {}).update(own)
        return routes

    def _health_routes(self) -> dict[str, Route]:
        return {"/healthz": check(self._dead_threads), "/readyz": check(self._not_ready)}

    def _dead_threads(self) -> list[str]:
        return [f"thread {name} has ended" for name in self._threads.dead()]

    def _not_ready(self) -> list[str]:
        lagging = [r.kind for r in self._reflectors.values() if not r.is_healthy]
        if not self._is_served(PADDLE_JOB):
            lagging.append("the PaddleJob CRD is not served")
        return self._dead_threads() + [f"not synced: {kind}" for kind in lagging]

    def _is_served(self, resource: Resource) -> bool:
        reflector = self._reflectors.get(resource)
        return reflector is not None and reflector.is_served


def _watched(namespace: str) -> list[tuple[Resource, Scope]]:
    """What is watched. Children are selected by the label that every child carries."""
    everything, children = Scope(namespace), Scope(namespace, LABEL_JOB_UID)
    watched = [
        (PADDLE_JOB, everything),
        (POD, children),
        (SERVICE, children),
        (CONFIG_MAP, children),
        # All of them: a user's own PodGroup has no label of ours.
        (VOLCANO_POD_GROUP, Scope(namespace, is_optional=True)),
        (GANG_POD_GROUP, Scope(namespace, LABEL_JOB_UID, is_optional=True)),
    ]
    if not namespace:
        # Only a cluster-wide role may read them; without, pods on lost nodes are left alone.
        watched.append((NODE, Scope(is_optional=True)))
    return watched
