"""A cluster moves from paddle-operator 0.3 by the commands of docs/migration.md; jobs run through.

That operator itself is not here: what it leaves in a cluster is, with the CRD in its way, and pods
that a kubelet runs.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from localcluster.machine import clock
from tests.live import patience
from tests.live.gate import gated, open_gate
from tests.live.lab import CORE, PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import CRD, DEPLOYMENT
from tests.manuals.conftest import Desk
from tests.manuals.source import CHECKOUT
from tests.manuals.test_install import SYSTEM, UNINSTALL, printed
from tests.manuals.walk import Step, Walk, WalkError
from tests.memory.former import (
    FINALIZER,
    former_config_map,
    former_operator,
    former_pods,
    former_services,
    former_status,
)

pytestmark = [pytest.mark.cluster]

Raw = dict[str, Any]
PAGE = ["kubectl pdj migrate", "kubectl pdj migrate --run"]
LOOK, MOVE = (each.replace("kubectl pdj", ".venv/bin/python -m pdj") for each in PAGE)
"""As the page has them, without the plugin on PATH."""
JOBS = ("training", "by-name")


@pytest.fixture(scope="module")
def reader(quick_desk: Desk) -> Walk:
    """Who follows the page in the checkout, on a cluster of the former operator."""
    cluster = quick_desk.reader().cluster
    for thing in former_operator():
        Lab(cluster, SYSTEM).submit(thing)
    jobs = f"{PADDLE_JOBS}/namespaces/default/paddlejobs"
    assert clock.wait_until(lambda: cluster.client.is_ok(jobs), patience.SECONDS), jobs
    return Walk(cluster, CHECKOUT, lambda _: None)


@pytest.fixture(scope="module")
def lab(reader: Walk) -> Lab:
    """The users' namespace, with a job that runs in each way and one that has ended."""
    lab = Lab(reader.cluster, "default")
    for name, more in (("training", {}), ("by-name", {"intranet": "Service"})):
        roles = {"ps": (1, shell("exec sleep 3600")), "worker": (2, gated(name))}
        start(lab, paddle_job(name, roles, cleanPodPolicy="OnCompletion", **more))
    end(lab, paddle_job("ended", {"worker": (1, shell("exit 0"))}))
    return lab


def start(lab: Lab, job: Raw) -> None:
    """What the former operator does until all pods run."""
    name = job["metadata"]["name"]
    lab.submit(job | {"metadata": {"name": name, "finalizers": [FINALIZER]}})
    job = lab.job(name)
    lab.submit(*former_pods(job))
    services = former_services(job) if "intranet" in job["spec"] else []
    for service in services:
        lab.submit(service)

    def addresses() -> dict[str, str] | None:
        pods = {p["metadata"]["name"]: p["status"].get("podIP") for p in pods_of(lab, name)}
        return pods if pods and all(pods.values()) else None

    lab.submit(former_config_map(job, lab.wait(addresses, "addresses")))
    lab.wait(lambda: phases(lab, name) == {"Running"}, f"the pods of {name} run")
    set_status(lab, name, former_status(job, "Running", "running"))


def end(lab: Lab, job: Raw) -> None:
    """A job that has ended under the former operator."""
    name = job["metadata"]["name"]
    lab.submit(job | {"metadata": {"name": name, "finalizers": [FINALIZER]}})
    set_status(lab, name, former_status(lab.job(name), "Completed", "succeeded"))


def set_status(lab: Lab, name: str, status: Raw) -> None:
    """As the former operator writes it."""
    patch = json.dumps({"status": status})
    lab.kubectl("patch", "pdj", name, "--subresource=status", "--type=merge", f"--patch={patch}")


def pods_of(lab: Lab, job: str) -> list[Raw]:
    """By their names: the former operator's labels do not name the job."""
    pods = lab.items(CORE, "pods")
    return [pod for pod in pods if pod["metadata"]["name"].startswith(f"{job}-")]


def phases(lab: Lab, job: str) -> set[str]:
    return {pod["status"].get("phase", "") for pod in pods_of(lab, job)}


def uids(lab: Lab, job: str) -> dict[str, str]:
    """Of pods, ConfigMap and Services."""
    return {
        f"{kind}/{thing['metadata']['name']}": thing["metadata"]["uid"]
        for kind in ("pods", "configmaps", "services")
        for thing in lab.items(CORE, kind)
        if thing["metadata"]["name"].startswith(job)
    }


def starts(lab: Lab, job: str) -> set[str]:
    """When each container began: none has been started anew."""
    pods = pods_of(lab, job)
    states = [each["state"] for pod in pods for each in pod["status"]["containerStatuses"]]
    return {state["running"]["startedAt"] for state in states if "running" in state}


def test_page_prints_the_commands() -> None:
    page = (CHECKOUT / "docs" / "migration.md").read_text()
    assert re.findall(r"^kubectl pdj migrate.*$", page, re.MULTILINE) == PAGE


def test_what_would_be_refused_stops_the_move_before_it_begins(reader: Walk, lab: Lab) -> None:
    wrong = paddle_job("wrong", {"worker": (1, shell("exit 0"))}, cleanPodPolicy="Sometimes")
    lab.submit(wrong)
    with pytest.raises(WalkError) as error:
        reader.step(Step(MOVE))
    assert "default/wrong would be refused: spec.cleanPodPolicy: 'Sometimes'" in str(error.value)
    operator = lab.cluster.kubectl("-n", SYSTEM, "get", "deployment", DEPLOYMENT, "-o", "yaml")
    assert "control-plane" in operator.stdout
    lab.kubectl("delete", "pdj", "wrong")


def test_helm_release_of_the_former_operator_is_forgotten_first(reader: Walk, lab: Lab) -> None:
    marks = [f"meta.helm.sh/release-{each}" for each in ("name=former", f"namespace={SYSTEM}")]
    things = ("-n", SYSTEM, f"deployment/{DEPLOYMENT}"), (f"crd/{CRD}",)
    for thing in things:
        lab.cluster.kubectl("annotate", *thing, *marks)
    release = ("-n", SYSTEM, "create", "secret", "generic", "sh.helm.release.v1.former.v1")
    lab.cluster.kubectl(*release)
    lab.cluster.kubectl("-n", SYSTEM, "label", "secret", release[-1], "owner=helm", "name=former")
    with pytest.raises(WalkError) as error:
        reader.step(Step(MOVE))
    first = re.findall(r"belongs to the Helm release .* First run: (.*)", str(error.value))
    assert len(first) == len(things)
    for commands in first:
        reader.step(Step(commands))
    secrets = lab.cluster.kubectl("-n", SYSTEM, "get", "secrets", "-o", "name").stdout
    assert release[-1] not in secrets
    assert "First run" not in reader.step(Step(LOOK))


def test_running_jobs_live_through_the_move_and_complete(
    reader: Walk, lab: Lab, host: Path
) -> None:
    before = {job: (uids(lab, job), starts(lab, job)) for job in JOBS}
    ended = lab.status("ended")
    assert "drop the former operator's finalizer" in reader.step(Step(LOOK))
    assert {job: (uids(lab, job), starts(lab, job)) for job in JOBS} == before
    reader.step(Step(MOVE))
    for job in JOBS:
        lab.wait(lambda job=job: lab.condition(job, "Adopted"), f"{job} is adopted")
    assert {job: (uids(lab, job), starts(lab, job)) for job in JOBS} == before
    (shows,) = printed("docs/migration.md", "What becomes of jobs")
    assert re.search(r"default +training +Running +True", reader.step(Step(shows)))
    for job in JOBS:
        open_gate(host, job)
        status = lab.wait_completed(job)
        assert (status["attempt"], status.get("restartCount", 0)) == (1, 0)
        assert status["worker"]["succeeded"] == 2
        lab.wait(lambda job=job: not pods_of(lab, job), "pods go as cleanPodPolicy says")
    # What the new schema does not know is dropped by the API server, and nothing else is changed.
    ended["worker"].pop("refs")
    assert lab.status("ended") == ended
    lab.kubectl("delete", "pdj", "ended", "training", patience.IN_KUBECTL)


def test_second_move_changes_nothing(reader: Walk, lab: Lab) -> None:
    path = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/{DEPLOYMENT}"
    before = lab.cluster.get(path)["metadata"]["generation"]
    assert "finalizer" not in reader.step(Step(MOVE))
    assert lab.cluster.get(path)["metadata"]["generation"] == before


def test_pods_run_on_when_the_operator_is_uninstalled_and_the_crd_is_kept(
    reader: Walk, lab: Lab, host: Path
) -> None:
    lab.submit(paddle_job("back", {"worker": (2, gated("back"))}))
    lab.wait_phase("back", "Running")
    before = uids(lab, "back"), starts(lab, "back")
    reader.step(Step(UNINSTALL[0]))
    operators = Lab(lab.cluster, SYSTEM)
    operators.wait(lambda: not operators.items(CORE, "pods"), "the operator has ended")
    assert (uids(lab, "back"), starts(lab, "back")) == before
    open_gate(host, "back")
    lab.wait(lambda: phases(lab, "back") == {"Succeeded"}, "they end by themselves")
