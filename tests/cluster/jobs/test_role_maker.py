"""What Fleet's own role maker makes of the operator's environment, in every pod of a job."""

import json
import random

import pytest

from tests.live.lab import Lab, Raw, paddle_job, shell

pytestmark = [pytest.mark.training]

PADDLE = "registry.baidubce.com/paddle-operator/paddle-ubuntu:2.0.0-18.04"
TELL = """
import json, sys, time
import paddle
from paddle.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, Role
paddle.enable_static()
role = PaddleCloudRoleMaker()
role._generate_role()
gloo = role._gloo
told = {
    "role": {Role.WORKER: "worker", Role.SERVER: "server", Role.HETER_WORKER: "heter"}[role._role],
    "index": role._current_id,
    "endpoint": role._cur_endpoint,
    "servers": role._get_pserver_endpoints(),
    "workers": role._get_trainer_endpoints(),
    "heters": role._heter_trainer_endpoints,
    "next": role._next_heter_trainer_endpoints,
    "previous": role._previous_heter_trainer_endpoints,
    "stage": [role._stage_id, role._stage_num, role._stage_trainers],
    "gloo": gloo._is_initialized,
    "everyone": gloo._need_init_all,
}
if role._role == Role.WORKER and gloo._is_initialized:
    told["gathered"] = gloo.all_gather(role._current_id, "worker")
print("ROLE " + json.dumps(told), flush=True)
if role._role != Role.WORKER:
    time.sleep(3600)
"""
COUNTS = {"ps": 1, "worker": 2}
JOBS = {"heter": (0, COUNTS | {"heter": 2}), "gloo": (2, COUNTS)}
"""withGloo and pods by role. With `withGloo: 1`, the default, the examples train."""


def template(port: int) -> Raw:
    """Each job has ports of its own: Gloo's meeting point listens on all addresses."""
    port_env = [{"name": "PADDLE_PORT", "value": str(port)}]
    return shell("", image=PADDLE, command=["python", "-c", TELL], env=port_env)


def role_of(lab: Lab, pod: str) -> Raw | None:
    """What the pod's role maker has told, if it has."""
    lines = [line for line in lab.log(pod).splitlines() if line.startswith("ROLE ")]
    return dict(json.loads(lines[0].removeprefix("ROLE "))) if lines else None


@pytest.fixture(scope="module")
def told(module_lab: Lab) -> dict[str, Raw]:
    """By pod, what the role makers say of two completed jobs, one of them with heter trainers.

    Gloo listens on all addresses of the machine, where another run of these tests may listen too.
    """
    first = random.randrange(20_000, 28_000, 400)
    for number, (name, (with_gloo, counts)) in enumerate(JOBS.items()):
        roles = {role: (count, template(first + 100 * number)) for role, count in counts.items()}
        module_lab.submit(paddle_job(name, roles, withGloo=with_gloo, cleanPodPolicy="Never"))
    module_lab.wait_all(JOBS, "Completed")
    for name, (_, counts) in JOBS.items():
        for role in counts.keys() - {"worker"}:
            count = counts[role]
            module_lab.wait(lambda n=name, r=role, c=count: runs(module_lab, n, r) == c, role)
    pods = [pod["metadata"]["name"] for name in JOBS for pod in module_lab.pods(name)]
    return {pod: module_lab.wait(lambda pod=pod: role_of(module_lab, pod), pod) for pod in pods}


def runs(lab: Lab, job: str, role: str) -> int:
    return int(lab.status(job)[role].get("running", 0))


@pytest.mark.parametrize(("job", "says"), [("heter", [False] * 2), ("gloo", [True] * 2)])
@pytest.mark.parametrize("pod", ["ps-0", "worker-0", "worker-1"])
def test_with_gloo_reaches_the_role_maker(told, job, says, pod):
    """Whether a process sets Gloo up, and whether with servers too."""
    assert [told[f"{job}-{pod}"][word] for word in ("gloo", "everyone")] == says


def test_gloo_connects_the_workers(told: dict[str, Raw]) -> None:
    assert [told[f"gloo-worker-{index}"]["gathered"] for index in range(2)] == [[0, 1]] * 2


def test_heter_pod_knows_who_it_is(told: dict[str, Raw]) -> None:
    known = {pod: (each["role"], each["index"]) for pod, each in told.items() if "heter-" in pod}
    assert known == {
        "heter-ps-0": ("server", 0),
        "heter-worker-0": ("worker", 0),
        "heter-worker-1": ("worker", 1),
        "heter-heter-0": ("heter", 2),
        "heter-heter-1": ("heter", 3),
    }


@pytest.mark.parametrize("pod", ["ps-0", "worker-0", "worker-1", "heter-0", "heter-1"])
def test_heter_pod_knows_its_peers(module_lab: Lab, told: dict[str, Raw], pod: str) -> None:
    port = module_lab.get("/api/v1", "configmaps/heter")["data"]["PADDLE_PORT"]
    for word, role in (("servers", "ps"), ("workers", "worker"), ("heters", "heter")):
        pods = module_lab.pods("heter", role)
        assert told[f"heter-{pod}"][word] == [f"{p['status']['podIP']}:{port}" for p in pods]


def test_heter_stages_follow_one_another(told: dict[str, Raw]) -> None:
    worker, heter = told["heter-worker-0"], told["heter-heter-0"]
    assert worker["next"] == worker["heters"]
    assert heter["previous"] == heter["workers"]
    assert worker["stage"] == [1, 2, [2, 2]]
    assert heter["stage"] == [2, 2, [2, 2]]


@pytest.mark.usefixtures("told")
def test_heter_job_completes_by_its_workers(module_lab: Lab) -> None:
    assert module_lab.status("heter")["mode"] == "Heter"
    assert runs(module_lab, "heter", "heter") == 2
