"""A job's life as a list of steps: what the cluster, its users and its faults do to it.

A step is plain data, `{"do": "end", "pod": "train-worker-0", "code": 1}`, so that a sequence can
be kept and played again. A step that does not apply, as on a pod that is not there, does nothing.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from api.constants import ANNOTATION_WOKEN, LABEL_QUEUE
from api.objects import Raw, controller_of, is_deleting, labels_of, uid_of
from reconcile.model.plan import Settings
from tests.faults.invariants import UNCHARGED_CODES, Invariants, check_deadline, check_end
from tests.memory.builders import JobBuilder, a_job
from tests.memory.client import Client
from tests.memory.kubelet import Kubelet
from tests.memory.kueue import WORKLOAD, Kueue
from tests.memory.operator import Operator
from tests.memory.world import World, writes_nothing

Step = dict[str, Any]
LEAST_SECONDS = 1e-6
"""The world's clock tells microseconds; a shorter wait would never end."""
MAX_ROUNDS = 600
CAUGHT_UP_SECONDS = 32.0
"""So long after the last fault nothing waits any more: a pause or a back-off of 30 s is over."""
LEAST_STEP_SECONDS = 0.001
SETTINGS = Settings(
    elastic_server="etcd:2379", elastic_timeout_seconds=60, give_back_after_seconds=20, kueue=True
)


@dataclass
class Scenario:
    """One job and all that happens to it, in memory or behind a client elsewhere."""

    world: World = field(default_factory=lambda: World(SETTINGS))
    client: Client | None = None

    def __post_init__(self) -> None:
        self.kubelet = Kubelet(self.world)
        self.operator = Operator(self.world, self.client)
        self.invariants = Invariants(
            self.world, self.kubelet, seen=lambda: self.operator.seen.get("Pod", 0)
        )
        self.world.before_write = self.invariants.note_write
        self.crowded_out: set[str] = set()
        self.pulling: set[str] = set()
        self.sleep_seconds = 0.0
        self._tries: dict[str, tuple[str, datetime]] = {}
        """By pod UID, the annotation that a sleeping kubelet has seen, and when it last tried."""
        self.kueue: Kueue | None = None

    def do(self, step: Step) -> None:
        """One step, and a look at what must hold."""
        arguments = {key: value for key, value in step.items() if key != "do"}
        getattr(self, f"do_{step['do'].replace('-', '_')}")(**arguments)
        self.invariants.check()

    # Users

    def do_submit(self, spec: Raw) -> None:
        """Create the job; `spec` as `build_job` takes it."""
        self.spec = spec
        self.invariants.most_limit = spec.get("backoffLimit", 0)
        if "queue" in spec:
            self.kueue = Kueue(self.world)
        self.world.submit(build_job(spec, "first-uid"))

    def do_edit(self, **fields: Any) -> None:
        """Change fields of the spec that may change in a job that runs."""
        self.invariants.most_limit = max(self.invariants.most_limit, fields.get("backoffLimit", 0))
        self.world.edit_spec(**fields)

    def do_scale(self, replicas: int) -> None:
        """Another number of workers of an elastic job, within its bounds."""
        worker = self.world.job()["spec"]["worker"]
        if "limits" in worker and worker["requests"] <= replicas <= worker["limits"]:
            self.world.edit_spec(worker=worker | {"replicas": replicas})

    def do_reshape(self, replicas: int, zone: str) -> None:
        """Other pods for a job that is suspended and has none, and it goes on: all in one patch."""
        job = self.world.job()
        if job["spec"].get("suspend") and self.world.phase() in ("", "Suspended"):
            worker = deepcopy(job["spec"]["worker"]) | {"replicas": replicas}
            worker["template"]["spec"]["nodeSelector"] = {"zone": zone}
            if replicas <= worker.get("limits", replicas) and replicas >= worker.get("requests", 0):
                self.world.edit_spec(worker=worker, suspend=False)

    def do_relabel(self, queue: str) -> None:
        """Another queue, or none, for a job that has one."""
        if LABEL_QUEUE in labels_of(self.world.job()):
            labels = {LABEL_QUEUE: queue} if queue else {}
            self.world.change(
                "PaddleJob", "train", lambda job: job["metadata"].update(labels=labels)
            )

    def do_recreate(self) -> None:
        """Delete the job and create it again; the collector comes round to the children later."""
        if self.kueue is not None:
            return  # quota goes with the job, before its pods do
        uid = f"{self.world.version:08x}-later-uid"
        self.world.forget("PaddleJob", "train")
        self.invariants.chargeable = 0
        self.world.submit(build_job(self.spec, uid))

    def do_collect(self) -> None:
        """The collector: what belongs to a job that is gone goes, pods by their grace."""
        uid = uid_of(self.world.job())
        for (kind, name), obj in list(self.world.objects.items()):
            owner = controller_of(obj)
            if owner is not None and owner["uid"] != uid:
                self.world.delete(kind, name)

    def do_remove(self, kind: str, name: str) -> None:
        if self._is_ours(kind, name):
            self.world.delete(kind, name)

    def do_intrude(self, kind: str, name: str) -> None:
        """Someone else's object takes a name, if it is free."""
        if (kind, name) not in self.world.objects:
            obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": {}}
            self.invariants.foreign[(kind, name)] = self.world.put(obj)

    def do_retreat(self) -> None:
        for kind, name in self.invariants.foreign:
            self.world.remove(kind, name)
        self.invariants.foreign.clear()

    # The cluster

    def do_place(self, pod: str, node: str = "node-1") -> None:
        if pod in self.crowded_out:
            self._refuse_to_place(pod)
        elif self._is_ours("Pod", pod) and not self._status(pod).get("podIP"):
            self.kubelet.bind(pod, node)
            self.kubelet.give_address(pod)

    def do_crowd_out(self, name: str) -> None:
        """There is no room for the pod of this name."""
        self.crowded_out.add(name)

    def do_make_room(self) -> None:
        self.crowded_out.clear()

    def do_preempt(self) -> None:
        """Kueue wants the quota back, for a job of higher priority."""
        if self.kueue and self.world.names(WORKLOAD) and self.kueue.holds_quota:
            self.kueue.evict()

    def do_kueue_leaves(self) -> None:
        """Kueue is down: it admits nothing, and takes nothing back."""
        if self.kueue:
            self.kueue.is_away = True

    def do_kueue_returns(self) -> None:
        if self.kueue:
            self.kueue.is_away = False

    def do_pull(self, name: str) -> None:
        """The image of the pod of this name takes long to come."""
        self.pulling.add(name)

    def do_pulled(self) -> None:
        self.pulling.clear()

    def do_sleep(self, seconds: float) -> None:
        """A kubelet that finds no ConfigMap tries again so late, unless its pod is annotated."""
        self.sleep_seconds = seconds

    def do_start(self, pod: str) -> None:
        if self._can_start(pod):
            self.kubelet.start(pod)

    def do_end(self, pod: str, code: int) -> None:
        if self._status(pod).get("phase") == "Running":
            self.invariants.chargeable += code not in UNCHARGED_CODES
            self.kubelet.end(pod, code)

    def do_restart_in_place(self, pod: str) -> None:
        """The trainer exits and its kubelet starts it again."""
        is_running = self._status(pod).get("phase") == "Running"
        if is_running and self.world.get("Pod", pod)["spec"]["restartPolicy"] == "OnFailure":
            self.kubelet.restart(pod)

    def do_evict(self, pod: str, code: int = 143) -> None:
        """With the code 0, the trainer has only saved a checkpoint."""
        if self._status(pod).get("phase") == "Running":
            self.kubelet.evict(pod, code=code)

    def do_reject(self, name: str) -> None:
        """A kubelet that has restarted does not take the pod, whether it runs, waits or is done."""
        if self._status(name).get("phase") in ("Pending", "Running", "Succeeded"):
            self.kubelet.reject(name)

    def do_lose(self, pod: str) -> None:
        """The node was rebooted, and its kubelet does not know how the trainer ended."""
        if self._status(pod).get("phase") == "Running":
            self.kubelet.end(pod, 137, reason="ContainerStatusUnknown", finishedAt=None)

    def do_readdress(self, pod: str) -> None:
        """A live pod's sandbox is made anew."""
        if self._status(pod).get("podIP") and self._status(pod)["phase"] in ("Pending", "Running"):
            self.kubelet.give_address(pod)

    def do_vanish(self, pod: str) -> None:
        if self._is_ours("Pod", pod):
            self.kubelet.vanish(pod)

    def do_reap(self, pod: str, code: int = 143) -> None:
        """A pod that is being deleted ends."""
        if self._is_ours("Pod", pod) and is_deleting(self.world.get("Pod", pod)):
            self.kubelet.reap(pod, code)

    def do_refuse(self, kind: str) -> None:
        """A quota: nothing of a kind can be created."""
        self.world.refused_kinds.add(kind)

    def do_revoke(self) -> None:
        """The operator has no rights any more."""
        self.operator.client.has_rights = False

    def do_allow(self) -> None:
        """The quota is raised, and the operator has its rights."""
        self.world.refused_kinds.clear()
        self.operator.client.has_rights = True

    def do_advance(self, seconds: float) -> None:
        self.world.advance(seconds)

    def do_pass_time(self, seconds: float) -> None:
        """Time passes for an operator that keeps up; nothing moves the pods."""
        has_said = not self.operator.faults and self.operator.client.has_rights
        began, end = self.world.now, self.world.now + timedelta(seconds=seconds)
        self._catch_up()
        while (left := (end - self.world.now).total_seconds()) > 0:
            due = self.operator.queue.seconds_to_next()
            self.world.advance(min(left, max(LEAST_STEP_SECONDS, left if due is None else due)))
            self._catch_up()
        if has_said:
            check_deadline(self.world, since=began + timedelta(seconds=CAUGHT_UP_SECONDS))

    # The operator

    def do_work(self, passes: int = 1) -> None:
        for _ in range(passes):
            if not self.operator.work():
                return

    def do_show(self, kind: str, count: int | None = None) -> None:
        """The watch of a kind catches up, by so many changes or wholly."""
        self.operator.show(kind, count)

    def do_run(self) -> None:
        """A healthy while: the operator keeps up, and every pod gets as far as it can."""
        for _ in range(3):
            self.do_catch_up_and_work()
            self._move_pods()

    def do_catch_up_and_work(self) -> None:
        """The operator keeps up, and no pod moves."""
        self.operator.show_all()
        self.do_work(passes=3)

    def do_fault(self, writes: list[str]) -> None:
        """What becomes of the next writes."""
        self.operator.faults += writes

    def do_restart(self, warm: bool = False) -> None:
        """The operator is replaced: by a new process, or by a standby whose watches are late."""
        self.operator.restart(warm)

    # The end

    def finish(self) -> None:
        """Let all faults end, and see the job to its own end: no more to do, and all is well."""
        self.operator.faults.clear()
        self.do_allow()
        self.do_retreat()
        self.do_make_room()
        self.do_pulled()
        self.do_kueue_returns()
        if self.world.job()["spec"].get("suspend"):
            self.do_edit(suspend=False)
        self._move_pods()
        self.do_pass_time(CAUGHT_UP_SECONDS)
        plan = self.operator.fresh_plan()
        assert not (plan.creates or plan.deletes or plan.patches), f"left undone: {plan}"
        self._run_to_the_end()
        check_end(self.world)
        assert writes_nothing(self.world.work())
        self.world.advance(3600)
        assert writes_nothing(self.world.work())

    def _run_to_the_end(self) -> None:
        for _ in range(MAX_ROUNDS):
            self.operator.show_all()
            moved = self.operator.work() or self._move_pods() or self._wait()
            self.invariants.check()
            if not moved:
                return
        raise AssertionError(f"no end after {MAX_ROUNDS} rounds: {self.world.status()}")

    def _catch_up(self) -> None:
        for _ in range(MAX_ROUNDS):
            if not (self.operator.show_all() or self.operator.work()):
                return
            self.invariants.check()
        raise AssertionError(f"always something to do: {self.world.status()}")

    def _move_pods(self) -> bool:
        """What a healthy cluster does next to the pods; whether there was anything."""
        before = self.world.version
        self.do_collect()
        if self.kueue is not None:
            self.kueue.schedule()
        for name in self.world.names("Pod"):
            self.do_reap(name)
            self.do_place(name)
            if self._can_start(name) and self._is_tried(name):
                self.kubelet.start(name)
        return self.world.version > before

    def _wait(self) -> bool:
        """Let time pass until something is due, or until the training is over."""
        seconds = self.operator.queue.seconds_to_next()
        if seconds is not None:
            self.world.advance(max(seconds, LEAST_SECONDS))
            return True
        if self.world.phase() in ("Running", "Completing"):
            self.world.advance(1000)
            self.kubelet.end_all("worker")
            return True
        return False

    def _refuse_to_place(self, pod: str) -> None:
        is_new = self._is_ours("Pod", pod) and not self._status(pod).get("conditions")
        if is_new and not is_deleting(self.world.get("Pod", pod)):
            self.kubelet.refuse_to_bind(pod, "0/1 nodes are available: 1 Insufficient cpu.")

    def _can_start(self, pod: str) -> bool:
        status = self._status(pod)
        waits = status.get("phase") == "Pending" and status.get("podIP")
        waits = waits and pod not in self.pulling
        return bool(waits) and not is_deleting(self.world.get("Pod", pod))

    def _is_tried(self, pod: str) -> bool:
        """Whether the pod's kubelet tries to start its containers now."""
        if not self.sleep_seconds:
            return not self._waits_in_vain(pod)
        raw, now = self.world.get("Pod", pod), self.world.now
        seen = (raw["metadata"].get("annotations") or {}).get(ANNOTATION_WOKEN, "")
        before, at = self._tries.get(uid_of(raw), (None, now))
        if seen == before and (now - at).total_seconds() < self.sleep_seconds:
            return False
        self._tries[uid_of(raw)] = (seen, now)
        return True

    def _waits_in_vain(self, pod: str) -> bool:
        """Whether the pod's ConfigMap is missing, and it has been seen to wait for that."""
        return self.kubelet.environment(self.world.get("Pod", pod)) is None

    def _is_ours(self, kind: str, name: str) -> bool:
        obj = self.world.objects.get((kind, name))
        return obj is not None and controller_of(obj) is not None

    def _status(self, pod: str) -> Raw:
        if not self._is_ours("Pod", pod):
            return {}
        status: Raw = self.world.get("Pod", pod).get("status") or {}
        return status


def build_job(spec: Raw, uid: str) -> JobBuilder:
    """A job from the few words of a recorded spec: replicas by role, and fields of the spec."""
    fields = dict(spec)
    job = a_job(uid=uid)
    template = {"spec": {"containers": [{"name": "paddle", "image": "train:1"}]}}
    if fields.pop("onFailure", False):
        template["spec"]["restartPolicy"] = "OnFailure"  # type: ignore[assignment]
    if queue := fields.pop("queue", None):
        job.with_metadata(labels={LABEL_QUEUE: queue})
    elastic = fields.pop("elastic", None)
    if elastic:
        return job.with_elastic_workers(*elastic).with_spec(**fields)
    if fields.get("ps"):
        job.with_ps(fields.pop("ps"), template)
    return job.with_workers(fields.pop("workers"), template).with_spec(**fields)
