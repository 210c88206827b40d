"""What a pass gets to see: a job's family in the store, as the pure reconcile takes it.

Any worker may call.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from cachetools import TTLCache

from api.constants import Intranet
from api.objects import Raw, name_of, uid_of
from controller.clock import Clock
from controller.facts import JobFacts
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
from controller.store import Family, Store, key_of
from reconcile.plan import Observed, PutOff, Settings

PATIENCE = timedelta(seconds=5)
LONGEST_PATIENCE = timedelta(seconds=30)
"""While there are more jobs than workers the first status of a job waits: it costs the API server
about as much as two pods, and a job that runs by then needs none but the one that says so. It
waits for `PATIENCE` after each look at the job in the crowd, in all for the longest."""
_MAX_JOBS = 100_000
_REMEMBER_SECONDS = 3600.0


class Observer:
    """Builds what the reconcile takes. `is_served` tells of a kind that may be absent."""

    def __init__(
        self,
        store: Store,
        refusals: Refusals,
        settings: Settings,
        is_served: Callable[[Resource], bool],
        clock: Clock,
    ) -> None:
        self._store = store
        self._refusals = refusals
        self._settings = settings
        self._is_served = is_served
        self._clock = clock
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._written_at: TTLCache[str, datetime] = TTLCache(
            _MAX_JOBS, _REMEMBER_SECONDS, timer=clock.monotonic
        )
        self._put_off: TTLCache[str, PutOff] = TTLCache(
            _MAX_JOBS, _REMEMBER_SECONDS, timer=clock.monotonic
        )
        """By the UIDs of jobs whose first status waits."""
        self._nodes_by_name: dict[str, Raw] = {}
        self._nodes_version = -1

    def observe(self, family: Family) -> Observed:
        """A family as the reconcile takes it."""
        job, children = family.job, family.children
        volcano, gang = children.get(VOLCANO_POD_GROUP, ()), children.get(GANG_POD_GROUP, ())
        with self._lock:
            written_at = self._written_at.get(uid_of(job))
            put_off = self._put_off.get(uid_of(job))
        return Observed(
            job=job,
            pods=children.get(POD, ()),
            services=children.get(SERVICE, ()),
            config_maps=children.get(CONFIG_MAP, ()),
            pod_groups=volcano + gang,
            named_pod_group=family.named_pod_group,
            nodes=self._nodes(),
            refusals=self._refusals.of(key_of(job), uid_of(job)),
            status_written_at=written_at,
            put_off=put_off,
            taken_host_ports=self._taken_host_ports(job),
        )

    def settings(self) -> Settings:
        """The settings, with what the API server serves now."""
        return replace(
            self._settings,
            volcano_served=self._is_served(VOLCANO_POD_GROUP),
            gang_served=self._is_served(GANG_POD_GROUP),
        )

    def note_status_written(self, job: Raw) -> None:
        """This process has just written the job's status."""
        with self._lock:
            self._written_at[uid_of(job)] = self._clock.now()

    def put_off_first_status(self, job: Raw) -> None:
        """Let a job without a status wait for one: its pods may run before the wait is over.

        To be told at each look at the job while others wait for a worker.
        """
        if (job.get("status") or {}).get("phase"):
            return
        now, uid = self._clock.now(), uid_of(job)
        with self._lock:
            before = self._put_off.get(uid)
            since = before.since if before else now
            until = min(now + PATIENCE, since + LONGEST_PATIENCE)
            self._put_off[uid] = PutOff(since, until)

    def _nodes(self) -> dict[str, Raw] | None:
        if not self._is_served(NODE):
            return None
        version = self._store.version(NODE)
        with self._lock:
            if version != self._nodes_version:
                self._nodes_by_name = {name_of(node): node for node in self._store.all(NODE)}
                self._nodes_version = version
            return self._nodes_by_name

    def _taken_host_ports(self, job: Raw) -> frozenset[int]:
        if job["spec"].get("intranet") != Intranet.HOST:
            return frozenset()
        own = key_of(job)
        others = (facts for key, facts in self._store.facts(PADDLE_JOB) if key != own)
        return frozenset(
            port for facts in others if isinstance(facts, JobFacts) for port in facts.host_ports
        )
