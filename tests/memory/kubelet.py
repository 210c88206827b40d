"""What moves pods: a scheduler and a kubelet in memory.

A container starts only when the ConfigMap that its envFrom names exists, and then remembers what
that told it: `told` maps a pod's UID to the variables that its trainer began with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from api.objects import Raw, format_time, is_deleting, name_of, uid_of
from reconcile.model.plan import Plan
from tests.memory.builders import JobBuilder

if TYPE_CHECKING:
    from tests.memory.world import World

SIGTERM_EXIT = 143


@dataclass
class Kubelet:
    """The nodes of a world. Every pod gets an address that no pod had before."""

    world: World
    told: dict[str, Raw] = field(default_factory=dict)
    addresses: dict[str, set[str]] = field(default_factory=dict)
    """By pod UID, every address that the pod had."""
    _addresses_given: int = 0

    def bind(self, name: str, node: str = "node-1") -> None:
        """The scheduler has found a node."""
        condition = self._condition("PodScheduled")

        def edit(pod: Raw) -> None:
            pod["spec"]["nodeName"] = node
            status = pod.setdefault("status", {})
            others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
            status |= {"phase": "Pending", "conditions": [*others, condition]}

        self.world.change("Pod", name, edit)

    def refuse_to_bind(self, name: str, message: str, reason: str = "Unschedulable") -> None:
        """The scheduler has found none."""
        condition = self._condition("PodScheduled", "False", reason=reason)
        self._edit_status(name, phase="Pending", conditions=[condition | {"message": message}])

    def give_address(self, name: str) -> None:
        """The sandbox is up: a new address, of a pod that may have had another."""
        self._addresses_given += 1
        address = f"10.1.{self._addresses_given // 250}.{self._addresses_given % 250 + 1}"
        self.addresses.setdefault(self.uid(name), set()).add(address)
        self._edit_status(name, podIP=address)

    def start(self, name: str) -> bool:
        """Start the containers, or leave them waiting for the ConfigMap; whether they run."""
        pod = self.world.get("Pod", name)
        variables = self.environment(pod)
        if variables is None:
            missing = next(filter(lambda each: self._data(each) is None, sources_of(pod)), None)
            told = f'configmap "{missing}" not found' if missing else self._missing_key(pod)
            self.wait(name, "CreateContainerConfigError", told)
            return False
        self.told[uid_of(pod)] = variables
        self._set_container(name, "Running", {"running": {"startedAt": self._now()}})
        return True

    def wait(self, name: str, reason: str, message: str = "") -> None:
        """The trainer waits."""
        self._set_container(name, "Pending", {"waiting": {"reason": reason, "message": message}})

    def end(self, name: str, code: int, **fields: object) -> None:
        """The trainer exits; nothing restarts it."""
        terminated = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": self._started_at(name),
            "finishedAt": self._now(),
            **fields,
        }
        phase = "Failed" if code else "Succeeded"
        self._set_container(name, phase, {"terminated": terminated})

    def see_end(self, name: str, code: int, **fields: object) -> Plan:
        """The trainer exits, and the job settles; the plan of the last pass."""
        self.end(name, code, **fields)
        return self.world.settle()

    def restart(self, name: str, code: int = 1) -> None:
        """The trainer exits and is started again in place, as OnFailure has it."""
        status = self._container(name)
        ended = {"terminated": {"exitCode": code, "finishedAt": self._now()}}
        count = status.get("restartCount", 0) + 1
        running = {"running": {"startedAt": self._now()}}
        self._set_container(name, "Running", running, lastState=ended, restartCount=count)

    def evict(
        self, name: str, reason: str = "EvictionByEvictionAPI", code: int = SIGTERM_EXIT
    ) -> None:
        """The cluster ends the pod: the condition first, then the exit, by SIGTERM or well."""
        pod = self.world.get("Pod", name)
        condition = self._condition("DisruptionTarget", reason=reason)
        conditions = [*(pod.get("status", {}).get("conditions") or ()), condition]
        self._edit_status(name, conditions=conditions)
        self.end(name, code)

    def reject(self, name: str, reason: str = "NodeAffinity") -> None:
        """A kubelet does not take the pod, or not again; its containers are as they were."""
        self._edit_status(name, phase="Failed", reason=reason, message="Pod was rejected")

    def delete(self, name: str) -> None:
        self.world.delete("Pod", name)

    def vanish(self, name: str) -> None:
        """The pod is gone without a word."""
        self.world.remove("Pod", name)

    def reap(self, name: str, code: int = SIGTERM_EXIT) -> None:
        """End a pod that is being deleted: its containers exit, then it is gone."""
        if self._container(name):
            self.end(name, code)
        self.world.remove("Pod", name)

    def reap_all(self) -> None:
        """End every pod that is being deleted."""
        for pod in self.world.of_kind("Pod"):
            if is_deleting(pod):
                self.reap(name_of(pod))

    def let_go(self) -> Plan:
        """Settle, end what is being deleted, and settle; the plan of the last pass."""
        self.world.settle()
        self.reap_all()
        return self.world.settle()

    def place_all(self) -> None:
        """Give every pod that has none a node and an address."""
        for pod in self.world.of_kind("Pod"):
            if not is_deleting(pod) and not (pod.get("status") or {}).get("podIP"):
                self.bind(name_of(pod))
                self.give_address(name_of(pod))

    def start_all(self) -> None:
        """Start every placed pod that has not started, where its ConfigMap exists."""
        for pod in self.world.of_kind("Pod"):
            status = pod.get("status") or {}
            waits = status.get("phase") == "Pending" and status.get("podIP")
            if waits and not is_deleting(pod):
                self.start(name_of(pod))

    def end_all(self, role: str, code: int = 0) -> None:
        """Every running pod of a role exits."""
        for pod in self.world.of_kind("Pod"):
            is_running = (pod.get("status") or {}).get("phase") == "Running"
            if is_running and pod["metadata"]["labels"]["paddle-res-type"] == role:
                self.end(name_of(pod), code)

    def uid(self, name: str) -> str:
        return uid_of(self.world.get("Pod", name))

    def environment(self, pod: Raw) -> Raw | None:
        """What the pod's ConfigMaps say; None while one of them, or a key, is missing."""
        variables: Raw = {}
        for container in pod["spec"]["containers"]:
            for source in container.get("envFrom") or ():
                data = self._data(source["configMapRef"]["name"])
                if data is None:
                    return None
                variables |= data
        return None if self._missing_key(pod) else variables

    def _missing_key(self, pod: Raw) -> str:
        """What a kubelet says of the first key that a ConfigMap lacks; empty if none does."""
        entries = (e for c in pod["spec"]["containers"] for e in c.get("env") or ())
        for entry in entries:
            wanted = (entry.get("valueFrom") or {}).get("configMapKeyRef")
            if wanted and wanted["key"] not in (self._data(wanted["name"]) or {}):
                where = f"{pod['metadata']['namespace']}/{wanted['name']}"
                return f"couldn't find key {wanted['key']} in ConfigMap {where}"
        return ""

    def _data(self, name: str) -> Raw | None:
        config_map = self.world.objects.get(("ConfigMap", name))
        return None if config_map is None else config_map.get("data") or {}

    def _set_container(self, name: str, phase: str, state: Raw, **fields: object) -> None:
        pod = self.world.get("Pod", name)
        trainer = pod["spec"]["containers"][0]["name"]
        before = self._container(name)
        status = {"restartCount": 0, **before, "name": trainer, "state": state, **fields}
        self._edit_status(name, phase=phase, containerStatuses=[status])

    def _container(self, name: str) -> Raw:
        statuses = (self.world.get("Pod", name).get("status") or {}).get("containerStatuses")
        return dict(statuses[0]) if statuses else {}

    def _started_at(self, name: str) -> str:
        running = (self._container(name).get("state") or {}).get("running") or {}
        return str(running.get("startedAt") or self._now())

    def _edit_status(self, name: str, **fields: object) -> None:
        self.world.change("Pod", name, lambda pod: pod.setdefault("status", {}).update(fields))

    def _condition(self, type_: str, status: str = "True", **fields: object) -> Raw:
        return {"type": type_, "status": status, "lastTransitionTime": self._now(), **fields}

    def _now(self) -> str:
        return format_time(self.world.now)


def sources_of(pod: Raw) -> list[str]:
    """The ConfigMaps that the pod's containers take variables from."""
    sources = (each.get("envFrom") or () for each in pod["spec"]["containers"])
    return [source["configMapRef"]["name"] for each in sources for source in each]


def run_job(world: World, kubelet: Kubelet, job: JobBuilder | None = None) -> None:
    """Take the submitted job, or this one, to where all its pods run, or as far as it gets."""
    name = name_of(world.submit(job)) if job else "train"
    world.settle(name)
    kubelet.place_all()
    world.settle(name)
    kubelet.start_all()
    world.settle(name)
