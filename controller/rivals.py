"""Finds other operators that lead while this one does: two would overwrite each other's changes.

Operators of one scope contend for one Lease only if they are in one namespace. So a leader for all
namespaces reads, once a minute, the Leases of all operators, by their label. One that somebody has
renewed since the last time is another leader, of the same jobs or of some of them. Times in Leases
are other machines', and are only compared with each other. One thread calls `run`.
"""

import threading
from dataclasses import dataclass, field

from api.constants import OPERATOR_LABELS
from api.objects import Raw, name_of, namespace_of, uid_of
from controller.client.api import ApiClient
from controller.client.resources import EVENT, LEASE
from controller.leader import Candidate
from controller.logs import Log
from controller.work.events import build_event
from kube.clock import Clock
from kube.errors import ApiError
from metrics import Metrics
from reconcile.model.plan import EmitEvent

PERIOD_SECONDS = 60.0
REASON = "AnotherOperatorLeads"
NAME_PREFIX = "paddlejob-operator-"
MAX_TOLD = 10
"""Others that are named each minute; whoever may write Leases could make thousands."""
_LABELS = ",".join(f"{key}={value}" for key, value in OPERATOR_LABELS.items())
_QUERY = {"labelSelector": _LABELS, "limit": "500"}
"""One page: more than that are not operators."""


@dataclass
class Rivals:
    """Reads the Leases, and reports what it finds: in the log, as an Event and as a metric."""

    client: ApiClient
    me: Candidate
    clock: Clock
    metrics: Metrics
    log: Log
    _seen: dict[str, str] = field(default_factory=dict)
    """When each other Lease was renewed, as it was read last."""
    _told: frozenset[str] = frozenset()
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Read the Leases at once, and then each minute, until stopped."""
        self.look()
        while not self.clock.wait(self._stop, PERIOD_SECONDS):
            self.look()

    def stop(self) -> None:
        """End `run`. Any thread can call this."""
        self._stop.set()

    def look(self) -> None:
        """Read the Leases once. Without the right to list them, nothing is known of others."""
        try:
            items = self.client.get(LEASE.path(), _QUERY).get("items") or []
        except ApiError as error:
            self.metrics.client.set_rivals(0)
            self.log.debug("leases_not_read", error=error.message)
            return
        leases = [each for each in items if name_of(each).startswith(NAME_PREFIX)]
        found = self._leading(leases)
        self.metrics.client.set_rivals(len(found))
        own = next((each for each in leases if self._is_own(each)), None)
        named = sorted(found)[:MAX_TOLD]
        self._told = frozenset(place for place in named if self._tell(own, place, found[place]))

    def _tell(self, own: Raw | None, place: str, holder: str) -> bool:
        """Log another leader, and send an Event of our Lease once; returns whether it has been."""
        self.log.warning("another_operator_leads", lease=place, holder=holder)
        if place in self._told or own is None:
            return own is not None
        try:
            self._emit(own, f"{place} is led, too, by {holder}: remove one of them")
        except ApiError as error:
            self.log.debug("rival_not_told", error=error.message)
            return False
        return True

    def _leading(self, leases: list[Raw]) -> dict[str, str]:
        """The other Leases that were renewed since the last time, and who holds them."""
        before, self._seen, found = self._seen, {}, {}
        for lease in leases:
            place, spec = f"{namespace_of(lease)}/{name_of(lease)}", lease.get("spec") or {}
            holder, renewed = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime"))
            if self._is_own(lease) or not holder:
                continue
            self._seen[place] = renewed
            if before.get(place, renewed) != renewed:
                found[place] = holder
        return found

    def _is_own(self, lease: Raw) -> bool:
        return (namespace_of(lease), name_of(lease)) == (self.me.namespace, self.me.name)

    def _emit(self, own: Raw, message: str) -> None:
        place = {"namespace": self.me.namespace, "name": name_of(own), "uid": uid_of(own)}
        event = EmitEvent("Warning", REASON, message)
        body = build_event(LEASE, place, event, self.clock.now())
        self.client.create(EVENT.path(self.me.namespace), body)
