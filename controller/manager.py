"""Builds all parts, starts them in order, and stops them in order.

ARCHITECTURE.md has a drawing of the parts. A process has one Manager. The main thread calls `run`,
which returns the exit code; any thread can call `stop`.
"""

import os
import random
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry

from api.constants import ATTEMPT_ENDS, FAILURE_REASONS, TERMINAL_PHASES
from api.ownership import Key
from controller.cache.census import take_census, take_namespace_census
from controller.cache.event_handler import EventHandler
from controller.cache.reflector import Reflector, Scope
from controller.cache.store import Store
from controller.cache.watches import Watches, watched
from controller.client.api import ApiClient
from controller.client.resources import PADDLE_JOB, Resource
from controller.gate import ASK_SECONDS, THREADS, Gate
from controller.health import DISABLED, HealthServer, Route, check, exposition
from controller.leader import REQUEST_TIMEOUT_SECONDS, Candidate, LeaderElector
from controller.logs import Log
from controller.options import Options
from controller.rivals import Rivals
from controller.threads import Threads
from controller.work.applier import MAX_PARALLEL, Applier
from controller.work.events import EventRecorder
from controller.work.log_keeper import BURST, RATE, LogKeeper
from controller.work.log_reader import AT_ONCE, BACKLOG_SHARE, LOG_RATE, LogReader
from controller.work.log_reader import THREADS as READERS
from controller.work.memory import JobMemory
from controller.work.node_rests import NodeRests
from controller.work.observer import Observer
from controller.work.ports import PortRanges
from controller.work.worker import Decide, Worker
from controller.workqueue.queue import WorkQueue
from controller.workqueue.rate_limiter import Batches, TokenBucket
from kube.client import Connection
from kube.clock import MAX_DIFFERENCE, Clock
from kube.logs import LOG_READ_SECONDS
from metrics import Census, Metrics, NamespaceCensus
from metrics.runtime import QueueMetrics

SYNC_SECONDS = 120.0
"""The caches must be full within this time, or the process ends."""
CATCH_UP_SECONDS = 60.0
"""A new leader's caches must become as new as its lease within this time, or the process ends."""
DRAIN_SECONDS = 20.0
"""How long the shutdown waits for passes in progress. This, EVENTS_SECONDS and JOIN_SECONDS are all
its waits: together less than the usual grace period of a pod, 30 s."""
ENDED_SPREAD_SECONDS = 30.0
"""The first passes of ended jobs, which can be thousands, are spread over this time."""
EVENTS_SECONDS = 0.5
"""How long the shutdown waits for buffered Events; the next leader waits meanwhile."""
JOIN_SECONDS = 8.5
"""How long the shutdown waits for the threads to end; releasing the lease takes longest."""
CLOCK_LOG_SECONDS = 60.0
EXIT_FAILED = 1
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Foundation:
    """The parts on which everything else is built."""

    options: Options
    connection: Connection
    clock: Clock
    log: Log
    metrics: Metrics


class Manager:
    """The operator. `die` ends the process at once, if a thread ends or the lease is lost."""

    def __init__(
        self,
        foundation: Foundation,
        decide: Decide,
        die: Callable[[], None] = lambda: os._exit(EXIT_FAILED),
    ) -> None:
        self._base = foundation
        self._stop = threading.Event()
        self._threads = Threads(foundation.clock, foundation.log, die)
        options, settings = foundation.options, foundation.options.settings
        kinds = [each for each, _ in watched("", kueue=settings.kueue)]
        self._store = Store(kinds, options.namespaces, settings.accelerators)
        self._queue = WorkQueue(foundation.clock, foundation.metrics.queue, options.workers)
        self._clients: list[ApiClient] = []
        """The clients to close at the end."""
        self._memory = JobMemory(self._store, foundation.clock)
        self._watches = self._build_watches(options.namespaces)
        self._elector = self._build_elector(die)
        self._rivals = self._build_rivals()
        self._recorder, self._worker = self._build_worker(decide)
        self._log_reader = self._build_log_reader()
        self._gate = self._build_gate()
        self._servers = self._build_servers()

    def run(self) -> int:
        """Start everything, wait for `stop`, end everything; returns 1 if it could not start."""
        has_started = self._start()
        if has_started:
            self._watch_clock()
        self._end()
        return 0 if has_started or self._stop.is_set() else EXIT_FAILED

    def _start(self) -> bool:
        """Start everything in order; False if a cache is not ready in time or before a stop."""
        options, threads = self._base.options, self._threads
        self._base.metrics.jobs.preset(FAILURE_REASONS, ATTEMPT_ENDS)
        store, now, leads = self._store, self._base.clock.now, self._leads
        # Only the leader counts: a sum over all replicas would count each job several times.
        self._base.metrics.count_state(lambda: take_census(store, now()) if leads() else Census())
        if options.metrics_by_namespace:
            self._base.metrics.count_namespaces(
                lambda: take_namespace_census(store, now()) if leads() else NamespaceCensus()
            )
        self._base.metrics.client.watch_clock(lambda: self._base.clock.ahead().total_seconds())
        if self._gate is not None:
            self._gate.start()
        # Health first: the kubelet probes while the caches still fill.
        for server in self._servers:
            threads.start(f"serve-{server.port}", server.run)
        self._watches.start(threads.start)
        if not self._wait_for_caches():
            return False
        # The election follows: its winner has full caches, and lists only some kinds again.
        if self._elector is not None:
            threads.start("elect", self._elector.run)
            self._wait_until(self._elector.acquired.is_set)
            if not self._catch_up():
                return False
        # Workers last: they must neither see an empty cache nor write without the lease.
        if not self._stop.is_set():
            if self._rivals is not None:
                threads.start("rivals", self._rivals.run)
            self._add_all_jobs()
            threads.start("events", self._recorder.run)
            self._base.metrics.reconcile.set_workers(_threads(options.workers))
            for number in range(_threads(options.workers)):
                threads.start(f"worker-{number}", self._worker.run)
            if self._log_reader is not None:
                self._log_reader.queue.open()  # else the readers end: `get` returns None
                threads.start("watch-logs", self._log_reader.watch)
                for number in range(READERS):
                    threads.start(f"logs-{number}", self._log_reader.run)
            self._base.log.info("working", workers=options.workers)
        return True

    def stop(self) -> None:
        """Start the shutdown; `run` returns when it is complete. Any thread can call this."""
        self._stop.set()

    def _end(self) -> None:
        """Undo the start in reverse: stop writing, release the lease, stop watching."""
        self._threads.expect_returns()
        if self._log_reader is not None:
            self._log_reader.stop()
        if self._rivals is not None:
            self._rivals.stop()
        self._queue.shut_down()
        self._worker.applier.stop()
        is_drained = self._queue.drain(DRAIN_SECONDS)
        self._recorder.stop()
        self._threads.join(EVENTS_SECONDS, "events")
        if not is_drained:
            # A worker perhaps still writes, so the lease is not released: it expires.
            self._base.log.warning("not_drained", seconds=DRAIN_SECONDS)
        elif self._elector is not None:
            self._elector.stop()
        self._watches.stop()
        for server in self._servers:
            server.stop()
        if self._gate is not None:
            self._gate.close()
        self._worker.applier.close()
        left = self._threads.join(JOIN_SECONDS)
        for client in self._clients:
            client.close()
        self._base.log.info("stopped", threads_left=left)

    def _add_all_jobs(self) -> None:
        """Open the queue and add every job: ended ones later, at random times."""
        self._queue.open()
        for key, facts in self._store.facts(PADDLE_JOB):
            has_ended = facts.phase in TERMINAL_PHASES
            seconds = random.uniform(0.0, ENDED_SPREAD_SECONDS) if has_ended else 0.0
            self._queue.add_after(key, seconds)

    def _wait_for_caches(self) -> bool:
        """Wait until every cache is full; returns False after SYNC_SECONDS or a stop."""
        full = self._wait_until(self._watches.are_full, SYNC_SECONDS)
        empty = self._watches.empty()
        if not full and not self._stop.is_set():
            self._base.log.error("caches_not_synced", kinds=empty, seconds=SYNC_SECONDS)
        elif full and empty:
            self._base.log.warning("namespaces_not_readable", kinds=empty)
        return full

    def _catch_up(self) -> bool:
        """Have the jobs listed again, and wait for it. False after CATCH_UP_SECONDS or a stop."""
        started = self._base.clock.monotonic()
        self._watches.list_again()

        def are_current() -> bool:
            self._base.metrics.client.set_catch_up(self._base.clock.monotonic() - started)
            return self._watches.are_current()

        is_current = self._wait_until(are_current, CATCH_UP_SECONDS)
        seconds = round(self._base.clock.monotonic() - started, 3)
        if is_current:
            self._base.log.info("caught_up", seconds=seconds)
        elif not self._stop.is_set():
            self._base.log.error("caches_behind_lease", seconds=seconds)
        return is_current

    def _watch_clock(self) -> None:
        """Wait for `stop`; log each minute if our clock differs from the API server's."""
        while True:
            ahead = self._base.clock.ahead()
            if abs(ahead) > MAX_DIFFERENCE:
                seconds = round(ahead.total_seconds(), 1)
                self._base.log.warning("clock_differs", seconds_ahead=seconds)
            if self._stop.wait(CLOCK_LOG_SECONDS):
                return

    def _wait_until(self, is_done: Callable[[], bool], seconds: float = float("inf")) -> bool:
        deadline = self._base.clock.monotonic() + seconds
        while not is_done():
            if self._stop.wait(_POLL_SECONDS) or self._base.clock.monotonic() > deadline:
                return False
        return True

    # Building

    def _build_client(self, pool_size: int, **options: Any) -> ApiClient:
        client = ApiClient(self._base.connection, self._base.metrics, pool_size, **options)
        self._clients.append(client)
        return client

    def _build_watches(self, namespaces: tuple[str, ...]) -> Watches:
        base, kueue = self._base, self._base.options.settings.kueue
        pool_size = len(watched("", kueue=kueue)) * max(1, len(namespaces)) + 4
        client = self._build_client(pool_size)

        def build(resource: Resource, scope: Scope) -> Reflector:
            handler = EventHandler(
                resource, self._store, self._queue.add, scope.namespace, self._memory.awaiting
            )
            return Reflector(client, handler, scope, base.clock, base.metrics.client, base.log)

        return Watches(namespaces, build, kueue=kueue)

    def _build_elector(self, die: Callable[[], None]) -> LeaderElector | None:
        base, options = self._base, self._base.options
        if not options.leader_elect:
            return None
        identity = f"{socket.gethostname()}_{os.getpid()}_{random.getrandbits(32):08x}"
        candidate = Candidate(options.leader_election_namespace, options.lease_name, identity)
        # A client of its own: renewals must not queue behind the pods of a wide job.
        client = self._build_client(2, read_timeout_seconds=REQUEST_TIMEOUT_SECONDS)
        return LeaderElector(client, candidate, base.clock, base.metrics, base.log, die)

    def _build_rivals(self) -> Rivals | None:
        base = self._base
        if self._elector is None or base.options.namespaces:
            return None  # only the operator of all namespaces may read all Leases
        writes = self._elector.write_seconds
        client = self._build_client(
            1, write_seconds=writes, read_timeout_seconds=REQUEST_TIMEOUT_SECONDS
        )
        return Rivals(client, self._elector.candidate, base.clock, base.metrics, base.log)

    def _build_worker(self, decide: Decide) -> tuple[EventRecorder, Worker]:
        base, queue = self._base, self._queue
        threads = _threads(base.options.workers) + MAX_PARALLEL
        writes = self._elector.write_seconds if self._elector else lambda: float("inf")
        client = self._build_client(threads + 4, write_seconds=writes)
        memory, keeper = self._memory, None
        if base.options.settings.progress:
            keeper = LogKeeper(client, TokenBucket(RATE, BURST, base.clock), base.log)
        recorder = EventRecorder(client, base.clock, base.metrics, base.log, queue.is_backlogged)
        worker = Worker(
            queue=queue,
            store=self._store,
            memory=memory,
            observer=Observer(
                self._store,
                memory,
                self._watches.is_served,
                client.get,
                queue.is_backlogged,
                self._watches.is_forbidden,
            ),
            applier=Applier(client, memory, recorder, base.metrics, queue.is_backlogged, keeper),
            clock=base.clock,
            metrics=base.metrics,
            log=base.log,
            settings=base.options.settings,
            decide=decide,
            ports=PortRanges(self._store),
            read_end=self._read_end,
        )
        return recorder, worker

    def _build_log_reader(self) -> LogReader | None:
        base, options = self._base, self._base.options
        if not options.settings.progress:
            return None
        return LogReader(
            client=self._build_client(READERS, read_timeout_seconds=LOG_READ_SECONDS),
            store=self._store,
            memory=self._memory,
            add=self._queue.add,
            record=self._recorder.record,
            pace=Batches(AT_ONCE, AT_ONCE / options.progress_reads, base.clock),
            is_backlogged=self._queue.is_backlogged,
            backlog_pace=lru_cache(10_000)(
                lambda _: TokenBucket(BACKLOG_SHARE * options.progress_reads, 1, base.clock)
            ),
            complaints=TokenBucket(LOG_RATE, 1, base.clock),
            clock=base.clock,
            log=base.log,
            # The queue's metrics are not exposed: its jobs usually wait for the rate limit. One
            # thread is for namespaces that no thread serves, because one tenant's nodes can hang.
            queue=WorkQueue(base.clock, QueueMetrics(CollectorRegistry()), READERS - 1),
            nodes=NodeRests(base.clock),
        )

    def _read_end(self, job: Key) -> None:
        if self._log_reader is not None:
            self._log_reader.read_end(job)

    def _build_gate(self) -> Gate | None:
        base, options = self._base, self._base.options
        if not options.metrics_secure or options.metrics_bind_address == DISABLED:
            return None
        client = self._build_client(THREADS, read_timeout_seconds=ASK_SECONDS)
        return Gate(client, base.clock, base.log)

    def _build_servers(self) -> list[HealthServer]:
        """Build the servers: a single one if both addresses are the same and no token is needed."""
        base, options = self._base, self._base.options
        health = {"/healthz": check(self._dead_threads), "/readyz": check(self._not_ready)}
        routes: dict[str, dict[str, Route]] = {options.health_probe_bind_address: health}
        metrics, encryption = exposition(base.metrics), None
        if self._gate is not None:
            # Imported only here, because the package cryptography takes 10 MB of memory.
            from controller.certificates import load_encryption

            metrics = self._gate.guard("/metrics", metrics)
            encryption = load_encryption(options.metrics_cert_dir, base.clock, base.log)
        routes.setdefault(options.metrics_bind_address, {})["/metrics"] = metrics
        routes.pop(DISABLED, None)
        return [
            HealthServer(address, own, base.clock, encryption if "/metrics" in own else None)
            for address, own in routes.items()
        ]

    def _leads(self) -> bool:
        return self._elector is None or self._elector.acquired.is_set()

    def _dead_threads(self) -> list[str]:
        return [f"thread {name} has ended" for name in self._threads.dead()]

    def _not_ready(self) -> list[str]:
        problems = self._dead_threads() + self._watches.problems() + self._memory.problems()
        if self._watches.lacks_paddle_jobs():
            problems.append("the PaddleJob CRD is not served")
        if self._elector is not None and not self._elector.is_led:
            problems.append("nobody renews the lease, and it cannot be taken")
        return problems


def _threads(workers: int) -> int:
    """The number of worker threads: `workers`, and half as many for namespaces without any."""
    return workers + max(1, workers // 2)
