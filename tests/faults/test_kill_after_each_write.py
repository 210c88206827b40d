"""The operator is killed after each single write of a job's life, and started again.

Each case is a job of its own in a namespace of its own, with an operator of its own behind a
proxy that ends it with SIGKILL the moment the API server has done its k-th write. All run at once.
"""

import contextlib
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.operated import operator_behind
from tests.live.proxy import FaultProxy, audit_entries

KILLS = range(1, 13)
"""A job of 3 pods writes 3 pods, a ConfigMap, about 4 statuses and 3 deletes."""
LEAST_WRITES = set(range(1, 8))
"""At least seven, for a busy operator writes few statuses."""
JOB = "victim"


@dataclass
class Operator(contextlib.ExitStack):
    """An operator of one namespace, which dies after its k-th write and comes back."""

    lab: Lab
    folder: Path
    kill_after: int
    deaths: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards the process, which is what this stack holds."""

    def __post_init__(self) -> None:
        super().__init__()
        self.proxy = FaultProxy(self.lab.cluster, self.after_write)
        self.spawn()

    def after_write(self, count: int) -> bool:
        """Kill it after the chosen write; its answer is lost with it."""
        if count != self.kill_after:
            return True
        with self.lock:
            self.close()
        self.deaths += 1
        self.spawn()
        return False

    def spawn(self) -> None:
        with self.lock:
            operator = operator_behind(self.proxy, self.lab.namespace, self.folder, "--workers=2")
            self.enter_context(operator)


def test_a_job_ends_the_same_whenever_its_operator_is_killed(unattended, tmp_path):
    operators = []
    with contextlib.ExitStack() as stack:
        for count in KILLS:
            folder = tmp_path / str(count)
            folder.mkdir()
            lab = Lab(unattended, stack.enter_context(new_namespace(unattended)))
            operators.append(stack.enter_context(Operator(lab, folder, count)))
            stack.callback(operators[-1].proxy.close)
        labs = [operator.lab for operator in operators]
        for lab in labs:
            lab.submit(victim())
        for lab in labs:
            lab.wait_completed(JOB)
            lab.wait(lambda lab=lab: not lab.items(CORE, "pods"), "no pod left over")
        labs[0].wait(lambda: deadly(operators) >= LEAST_WRITES, "each write was to be the last")
    assert creations(unattended, labs) == {
        (lab.namespace, name): 1
        for lab in labs
        for name in (f"{JOB}-ps-0", f"{JOB}-worker-0", f"{JOB}-worker-1")
    }


def deadly(operators: list[Operator]) -> set[int]:
    return {operator.kill_after for operator in operators if operator.deaths}


def victim() -> dict[str, object]:
    roles = {"ps": (1, SERVER), "worker": (2, shell("sleep 1"))}
    return paddle_job(JOB, roles, cleanPodPolicy="Always")


def creations(cluster: Cluster, labs: list[Lab]) -> Counter[tuple[str, str]]:
    namespaces = {lab.namespace for lab in labs}
    found: Counter[tuple[str, str]] = Counter()
    for entry in audit_entries(cluster):
        what = entry.get("objectRef") or {}
        is_pod = what.get("resource") == "pods" and "subresource" not in what
        was_created = entry["verb"] == "create" and entry["responseStatus"]["code"] == 201
        if is_pod and was_created and what.get("namespace") in namespaces:
            found[(what["namespace"], what["name"])] += 1
    return found
