"""A stand-in for Kueue over a world in memory: it admits, evicts and requeues Workloads.

It writes the conditions that Kueue writes, and leaves to the operator what Kueue leaves to a job's
controller: an admission is cleared by whoever has stopped the job.
"""

from api.objects import Raw, condition_of, format_time
from tests.memory.world import World

WORKLOAD = "Workload"


class Kueue:
    """What Kueue does in a world, step by step."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_away = False
        world.workloads_served = True

    @property
    def name(self) -> str:
        """The name of the only Workload."""
        (name,) = self._world.names(WORKLOAD)
        return name

    @property
    def workload(self) -> Raw:
        """The only Workload."""
        return self._world.get(WORKLOAD, self.name)

    def condition(self, type_: str) -> str:
        """The status of one of its conditions, empty if it was never set."""
        found = (self.workload.get("status") or {}).get("conditions") or ()
        return next((str(each["status"]) for each in found if each["type"] == type_), "")

    def hold(self, reason: str, message: str) -> None:
        """Say why there is no quota."""
        self.tell(QuotaReserved=("False", reason, message))

    def admit(self, flavor: str = "default", *, topology: bool = False, **counts: int) -> None:
        """Reserve quota for every pod set, or for so many pods, and let it start."""
        assigned = [
            {
                "name": each["name"],
                "flavors": {"cpu": flavor},
                "count": counts.get(each["name"], each["count"]),
                **({"topologyAssignment": {"levels": ["rack"]}} if topology else {}),
            }
            for each in self.workload["spec"]["podSets"]
        ]
        self._world.unwatched_objects.setdefault(("ResourceFlavor", flavor), {"spec": {}})
        admission = {"clusterQueue": "cq", "podSetAssignments": assigned}
        self._world.change(WORKLOAD, self.name, lambda w: _status(w).update(admission=admission))
        self.tell(
            QuotaReserved=("True", "QuotaReserved", "reserved"),
            Admitted=("True", "Admitted", "admitted"),
            **({"Evicted": ("False", "QuotaReserved", "")} if self.condition("Evicted") else {}),
        )

    def evict(self, reason: str = "Preempted") -> None:
        """Ask for the quota back."""
        self.tell(Evicted=("True", reason, "for a job of higher priority"))

    def schedule(self) -> None:
        """Admit the Workload once it has no quota and wants some, for there is room.

        One that is inactive is evicted. A Kueue that is away does neither.
        """
        for name in [] if self.is_away else self._world.names(WORKLOAD):
            workload = self._world.get(WORKLOAD, name)
            is_over = condition_of(workload, "Finished") is not None
            is_active = workload["spec"].get("active", True)
            if is_active and not (is_over or self.holds_quota):
                self.admit()
            elif not is_active and self.holds_quota and self.condition("Evicted") != "True":
                self.evict("Deactivated")

    @property
    def holds_quota(self) -> bool:
        """Whether the quota is in use."""
        return condition_of(self.workload, "QuotaReserved") is not None

    def tell(self, **conditions: tuple[str, str, str]) -> None:
        """Set conditions: status, reason, message."""

        def edit(workload: Raw) -> None:
            known = {c["type"]: c for c in _status(workload).get("conditions") or ()}
            for type_, (status, reason, message) in conditions.items():
                known[type_] = {
                    "type": type_,
                    "status": status,
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": format_time(self._world.now),
                }
            _status(workload)["conditions"] = list(known.values())

        self._world.change(WORKLOAD, self.name, edit)


def _status(workload: Raw) -> Raw:
    status: Raw = workload.setdefault("status", {})
    return status
