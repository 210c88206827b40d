"""The commands of README and docs/install.md, which install and uninstall, keep the user's own.

The commands are read out of the pages. What they say of one of the two ways to install counts for
the other: the same commands run with the other file, and jobs where that operator looks.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.live.gate import gated, open_gate
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.operated import CRD, DEPLOYMENT
from tests.manuals.conftest import Desk
from tests.manuals.source import CHECKOUT
from tests.manuals.walk import Step, Walk

pytestmark = [pytest.mark.cluster]

Raw = dict[str, Any]
ALL, ONE = "operator-all-namespaces.yaml", "operator.yaml"
SYSTEM, OURS = "paddle-system", "app.kubernetes.io/name=paddlejob-operator"
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)


def printed(page: str, heading: str) -> list[str]:
    """The kubectl commands below a heading of a page, in order."""
    text = (CHECKOUT / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = "".join(BLOCK.findall(text)).splitlines()
    return [line for line in lines if line.startswith("kubectl ")]


INSTALL, FIRST = printed("README.md", "Install"), printed("README.md", "The first job")
PAGE_INSTALL = printed("docs/install.md", "Install")
SWITCH = printed("docs/install.md", "One namespace, or all")
UNINSTALL = printed("docs/install.md", "Uninstall")


@pytest.fixture(scope="module")
def reader(quick_desk: Desk) -> Walk:
    """Who follows the pages, on a cluster without operator."""
    return quick_desk.reader()


def run(reader: Walk, commands: list[str], file: str = "") -> None:
    """Run them, with another operator's file where one is given."""
    for command in commands:
        reader.step(Step(re.sub(r"operator\S*\.yaml", file, command) if file else command))


def belongings(cluster: Cluster, *namespaces: str) -> dict[tuple[str, str], str]:
    """A Secret and a claim in each namespace, made unless they are there; their UIDs."""
    found = {}
    for namespace in namespaces:
        lab = Lab(cluster, namespace)
        if lab.get(CORE, "secrets/mine") is None:
            lab.kubectl("create", "secret", "generic", "mine", "--from-literal=key=value")
            lab.submit(claim("mine"))
        for kind in ("secrets", "persistentvolumeclaims"):
            thing = lab.get(CORE, f"{kind}/mine")
            found[namespace, kind] = thing["metadata"]["uid"]
    return found


def claim(name: str) -> Raw:
    """A volume claim."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def remains(cluster: Cluster) -> list[str]:
    """What is left of the operator, in the whole cluster; its pods go a moment later."""
    kinds = cluster.kubectl("api-resources", "--verbs=list,delete", "-o", "name").stdout.split()
    passing = ("pods", "events", "events.events.k8s.io", CRD)
    kinds = [kind for kind in kinds if kind not in passing]
    said = cluster.kubectl("get", "-A", "-l", OURS, "-o", "name", ",".join(kinds)).stdout
    return [line for line in said.split() if not line.startswith(("replicaset", "endpoint"))]


def uids(lab: Lab, job: str) -> set[str]:
    """Of the job's pods; fails where an attempt was counted."""
    assert lab.status(job).get("restartCount", 0) == 0
    return {pod["metadata"]["uid"] for pod in lab.pods(job)}


def kept(name: str) -> Raw:
    """A job of two that run until their gate is opened, and then stay."""
    return paddle_job(name, {"worker": (2, gated(name))}, cleanPodPolicy="Never")


def test_pages_say_the_same() -> None:
    assert PAGE_INSTALL[:2] == INSTALL
    assert SWITCH[0] == UNINSTALL[0]
    assert ALL in INSTALL[0]
    assert ONE in SWITCH[1]


def test_readme_shows_the_job_of_its_example() -> None:
    text = (CHECKOUT / "README.md").read_text()
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert f"{shown}---\n" in (CHECKOUT / "examples" / "first.yaml").read_text()


@pytest.mark.training
def test_first_steps_end_with_a_completed_job(reader: Walk) -> None:
    *commands, last = [*INSTALL, *FIRST]
    run(reader, commands)
    assert "step 100 of 100 on 2 workers" in reader.last("kubectl -n training logs")
    reader.step(Step(last, r"first +Completed +Collective +0/2"))


def test_users_things_outlive_an_uninstall_and_an_install_works_after_it(reader: Walk) -> None:
    """That of all namespaces goes, and that of one comes."""
    cluster = reader.cluster
    mine = belongings(cluster, "training", SYSTEM)
    run(reader, UNINSTALL)
    assert remains(cluster) == []
    run(reader, INSTALL, ONE)
    assert belongings(cluster, "training", SYSTEM) == mine
    lab = Lab(cluster, SYSTEM)
    lab.submit(paddle_job("after", {"worker": (1, shell("exit 0"))}))
    lab.wait_completed("after")


def test_jobs_live_through_both_switches(reader: Walk, host: Path) -> None:
    """From one namespace to all, back, and to all again; the test before has left the one."""
    cluster = reader.cluster
    beside, elsewhere = Lab(cluster, SYSTEM), Lab(cluster, "training")
    beside.submit(kept("beside"))
    elsewhere.submit(kept("elsewhere"))
    beside.wait_phase("beside", "Running")
    assert "phase" not in elsewhere.status("elsewhere")
    pods_beside = uids(beside, "beside")

    run(reader, SWITCH, ALL)
    elsewhere.wait_phase("elsewhere", "Running")
    pods_elsewhere = uids(elsewhere, "elsewhere")
    assert [each for each in remains(cluster) if each.startswith("clusterrolebinding")]

    run(reader, SWITCH)
    assert not [each for each in remains(cluster) if each.startswith("clusterrole")]
    open_gate(host, "beside")
    beside.wait_completed("beside")
    open_gate(host, "elsewhere")
    elsewhere.wait(lambda: ended(elsewhere, "elsewhere"), "the pods elsewhere have ended")
    assert elsewhere.status("elsewhere")["phase"] == "Running"  # nobody looks

    run(reader, SWITCH, ALL)
    elsewhere.wait_completed("elsewhere")
    assert len(pods_beside) == len(pods_elsewhere) == 2
    assert uids(beside, "beside") == pods_beside
    assert uids(elsewhere, "elsewhere") == pods_elsewhere


def ended(lab: Lab, job: str) -> bool:
    """Whether every pod of the job has ended well."""
    return {pod["status"]["phase"] for pod in lab.pods(job)} == {"Succeeded"}


def test_after_a_switch_uninstall_leaves_nothing_of_the_operator(reader: Walk) -> None:
    cluster = reader.cluster
    mine = belongings(cluster, "training", SYSTEM)
    run(reader, UNINSTALL)
    assert remains(cluster) == []
    operators = Lab(cluster, SYSTEM)
    operators.wait(lambda: not operators.items(CORE, "pods", OURS), f"the pods of {DEPLOYMENT} go")
    assert remains(cluster) == []  # nor has the operator left anything when it ended
    assert belongings(cluster, "training", SYSTEM) == mine
