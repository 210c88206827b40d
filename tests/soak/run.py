"""A run: rounds of jobs and faults; after each, calm, and a look at what must hold then."""

import contextlib
import heapq
import itertools
from collections import Counter
from collections.abc import Callable
from functools import partial

from api.objects import Raw, name_of, namespace_of
from kube.client import MERGE_PATCH
from kube.errors import AlreadyExists
from localcluster.client.informer import Informer
from localcluster.machine import clock
from reconcile.model.plan import Settings
from tests.live.lab import CORE, PADDLE_JOBS
from tests.live.operated import DEPLOYMENT, NAMESPACE
from tests.soak import faults, jobs
from tests.soak.audit import WriteLog
from tests.soak.checks import (
    Listing,
    check_ends,
    check_foreign,
    check_log,
    check_nothing_to_do,
    check_orphans,
    check_read,
    check_rest,
    check_status,
    is_lost,
)
from tests.soak.faults import NothingToHitError, Scene
from tests.soak.foreign import PERMANENT, Foreign
from tests.soak.place import FORCE_SECONDS, LEASES, NAMESPACES, OPERATORS, TROUBLE, Place
from tests.soak.record import Record
from tests.soak.sequence import Fault, Round, Submission, rounds
from tests.soak.trainings import (
    AFTER_SECONDS,
    NOTICE_SECONDS,
    UNREAD_SECONDS,
    Trainings,
    is_of_training,
    is_training,
)
from tests.soak.witness import Witness

TICK_SECONDS = 0.2
TOLD_SECONDS = 5.0
RETRY_SECONDS = 1.0
CALM_SECONDS = 300.0
"""For what was hit three times the pauses alone are 70 s, and a pod may take its grace to go."""
SETTLED_SECONDS = 3.0
REST_SECONDS = 6.0
SETTINGS = Settings(force_delete_after_seconds=FORCE_SECONDS)
SHORT = 90
ROUNDS_OF_PATIENCE = 3
RESTARTED_SECONDS = AFTER_SECONDS + NOTICE_SECONDS + UNREAD_SECONDS
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{DEPLOYMENT}"
Action = Callable[[], None]


class Watching:
    """A witness with the watches that it looks through; `restart` when versions have gone back."""

    def __init__(self, place: Place) -> None:
        self.trainings = Trainings(place)
        self._client = place.cluster.client
        self._note_lease = place.note_lease
        self._informers: list[Informer] = []
        self.witness = Witness()
        self.versions = 0
        self.start()

    def start(self) -> None:
        self._informers = [
            self._informer(f"{PADDLE_JOBS}/paddlejobs", "PaddleJob"),
            self._informer(f"{CORE}/pods", "Pod"),
            Informer(self._client, LEASES, self._see_leases, lambda _, one: self._note_lease(one)),
        ]
        for informer in self._informers:
            informer.start()

    def stop(self) -> None:
        for informer in self._informers:
            informer.stop()
        for informer in self._informers:
            informer.join()

    def restart(self) -> None:
        """Forget what was seen: it has never happened."""
        self.stop()
        self.versions += self.witness.versions
        self.witness = Witness()
        self.start()

    def _informer(self, path: str, kind: str) -> Informer:
        listed = partial(self.witness.see_list, kind)
        return Informer(self._client, path, listed, self._see)

    def _see(self, type_: str, obj: Raw) -> None:
        self.witness.see(type_, obj)
        self.trainings.see(obj)

    def _see_leases(self, leases: list[Raw]) -> None:
        for lease in leases:
            self._note_lease(lease)


class Soak:
    """Plays the rounds of a seed on a place for so many seconds."""

    def __init__(self, place: Place, scene: Scene, record: Record, watching: Watching) -> None:
        self.place, self.scene, self.record, self.watching = place, scene, record, watching
        self.ledger = scene.ledger
        self.writes = WriteLog(place.cluster.plane.audit_log, ACCOUNT)
        self.foreign = Foreign(place)
        self.trainings = watching.trainings
        self.trainings.begin()
        self._due: list[tuple[float, int, Action]] = []
        self._numbers = itertools.count()
        self._under_way: Counter[str] = Counter()
        self._told_at = 0.0
        self._waits_for: list[str] = []
        self._is_lost = False

    def run(self, seconds: float) -> None:
        """Rounds until the time is over, or something is wrong."""
        until = self.record.seconds + seconds
        kinds = {name: kind.most_seconds for name, kind in faults.KINDS.items()}
        for each in rounds(self.record.seed, sorted(jobs.KINDS), kinds):
            if self.record.seconds > until or self.record.violations:
                return
            self._play(each)
            self._calm()
            if each.number % ROUNDS_OF_PATIENCE == 0:
                self._await_restarts()
            self.record.rounds += 1
            with self.place.patience():
                self._clear()

    # A round

    def _play(self, each: Round) -> None:
        self.record.tell(
            f"round {each.number}: {len(each.submissions)} jobs, {len(each.faults)} faults"
        )
        began = clock.monotonic()
        for number, submission in enumerate(each.submissions):
            name = f"{submission.kind}-{each.number}-{number}"
            namespace = NAMESPACES[number % len(NAMESPACES)]
            submit = partial(self._submit, namespace, name, submission)
            self._at(began + submission.after_seconds, self._retried(submit))
        for fault in each.faults:
            self._at(began + fault.after_seconds, partial(self._begin, fault))
        while self._due:
            self._tick()

    def _at(self, when: float, action: Action) -> None:
        heapq.heappush(self._due, (when, next(self._numbers), action))

    def _tick(self) -> None:
        """Do what is due, and look after everything."""
        now = clock.monotonic()  # what is tried again is for the next time: something may not run
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()
        self.place.tend()
        self.trainings.tend(self.watching.witness.jobs())
        if seen := self.watching.witness.take_violations():
            self.record.violate(seen)
        if clock.monotonic() - self._told_at > TOLD_SECONDS:
            self._told_at = clock.monotonic()
            self._tell_progress()
        clock.sleep(TICK_SECONDS)

    def _submit(self, namespace: str, name: str, submission: Submission) -> None:
        job = jobs.KINDS[submission.kind].build(name, submission.seconds)
        with contextlib.suppress(AlreadyExists):
            self.place.client.create(self.place.job_path(namespace), job)
        self.ledger.enter((namespace, name), submission.kind)
        self.record.note(f"submitted {namespace}/{name}")

    def _begin(self, fault: Fault) -> None:
        try:
            end = faults.KINDS[fault.kind].begin(self.scene, fault)
        except (NothingToHitError, *TROUBLE) as error:
            self.record.missed[fault.kind] += 1
            self.record.note(f"missed {fault.kind}: {error!r}")
            return
        self.record.faults[fault.kind] += 1
        self._under_way[fault.kind] += 1
        self.record.note(f"begins {fault}")
        finish = self._retried(partial(self._finish, fault, end))
        self._at(clock.monotonic() + fault.for_seconds, finish)

    def _finish(self, fault: Fault, end: Action) -> None:
        end()
        self._under_way[fault.kind] -= 1
        self.record.note(f"ends {fault.kind}")

    def _retried(self, action: Action) -> Action:
        """The same, again and again until the API server takes it."""

        def attempt() -> None:
            try:
                action()
            except TROUBLE:
                self._at(clock.monotonic() + RETRY_SECONDS, attempt)

        return attempt

    # After a round

    def _calm(self) -> None:
        """Wait until everything is as it must be, and see it stay so."""
        began = clock.monotonic()
        wrong = ["not looked yet"]
        while wrong and clock.monotonic() < began + CALM_SECONDS and not self._is_lost:
            self._tick()
            wrong = self._unsettled()
            self._note_change(wrong)
        self.record.violate(wrong)
        if wrong:
            return
        self.record.recoveries.append(clock.monotonic() - began)
        self.record.tell(f"calm after {self.record.recoveries[-1]:.0f} s")
        with self.place.patience():
            self._see_rest()

    def _note_change(self, wrong: list[str]) -> None:
        short = [each[:SHORT] for each in wrong]
        if short != self._waits_for:
            self._waits_for = short
            self.record.note(f"waits: {short}")

    def _unsettled(self) -> list[str]:
        """What still differs from how it must end."""
        try:
            self.place.mend()
            if missing := self.place.what_is_missing():
                return missing
            listing = self.place.listing()
            self._resume(listing)
            return self._wrong_in(listing)
        except TROUBLE as error:
            return [f"the API server does not answer: {error!r}"]

    def _wrong_in(self, listing: Listing) -> list[str]:
        wrong = self.ledger.missing_in(listing.jobs) + check_orphans(listing)
        for job, expected in self.ledger.jobs_in(listing.jobs):
            wrong += check_ends(job, expected) + check_status(job, listing)
            wrong += check_read(job)
            self._is_lost |= is_lost(job, expected)
            wrong += check_nothing_to_do(job, listing, clock.utc_now(), SETTINGS)
        self.record.checks += 1
        return wrong

    def _resume(self, listing: Listing) -> None:
        """A restore may have brought back that a job is suspended."""
        for job, _ in self.ledger.jobs_in(listing.jobs):
            if job["spec"].get("suspend"):
                path = self.place.job_path(namespace_of(job), name_of(job))
                self.place.client.patch(path, {"spec": {"suspend": False}}, MERGE_PATCH)

    def _see_rest(self) -> None:
        self._pass_time(SETTLED_SECONDS)
        self.writes.take()
        self._pass_time(REST_SECONDS)
        writes = (each for each in self.writes.take() if not is_of_training(each))
        self.record.violate(check_rest(writes))
        self.record.violate(self._wrong_in(self.place.listing()))
        self.record.violate(check_foreign(self.foreign.made, self.foreign.there()))
        for name in OPERATORS:
            self.record.violate(check_log(name, self.place.seats[name].new_log()))

    def _await_restarts(self) -> None:
        """Trainings that hang now are restarted while nothing fails, but for the leader."""
        began, waiting = clock.monotonic(), self.trainings.hanging()
        while clock.monotonic() < max(began, self.trainings.changed_at) + RESTARTED_SECONDS:
            if not (waiting := [each for each in self.trainings.hanging() if each in waiting]):
                return
            self._tick()
        self.record.violate([f"{each} hangs, and was not restarted" for each in waiting])

    def _pass_time(self, seconds: float) -> None:
        until = clock.monotonic() + seconds
        while clock.monotonic() < until:
            self._tick()

    def _clear(self) -> None:
        """Delete the round's jobs: all but those that are always there."""
        if self.record.violations:
            return
        there = self.place.jobs()
        self.trainings.renew(there)
        self.ledger.close_round(there)
        for job in there:
            if name_of(job) not in PERMANENT and not is_training(name_of(job)):
                path = self.place.job_path(namespace_of(job), name_of(job))
                self.place.client.delete(path)

    def _tell_progress(self) -> None:
        under_way = ", ".join(sorted(+self._under_way)) or "nothing"
        self.record.tell(
            f"{sum(self.record.faults.values())} faults so far, now: {under_way}; "
            f"{len(self.ledger.expected)} jobs; leader {self.place.leader}"
        )
