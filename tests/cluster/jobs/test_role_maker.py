"""What Fleet's own role maker makes of the operator's environment, in every pod of a job."""

import json
import random

import pytest

from tests.live.lab import Lab, paddle_job

pytestmark = [pytest.mark.training, pytest.mark.timeout(500)]

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
GLOO = {0: (False, False), 1: (True, False), 2: (True, True)}
"""By withGloo: whether a process sets Gloo up, and whether with servers too."""
JOBS = {0: "heter", 1: "gloo-1", 2: "gloo-2"}
"""The job with each withGloo."""


def template(port: int) -> dict:
    """Each job has ports of its own: Gloo's meeting point listens on all addresses."""
    port_env = [{"name": "PADDLE_PORT", "value": str(port)}]
    trainer = {"name": "paddle", "image": PADDLE, "command": ["python", "-c", TELL]}
    return {"spec": {"containers": [{**trainer, "env": port_env}]}}


def told_by(lab: Lab, pod: str) -> dict:
    """What the pod's role maker has told, once it has."""

    def find() -> dict | None:
        done = lab.cluster.kubectl("-n", lab.namespace, "logs", pod, check=False)  # it may not run
        lines = [line for line in done.stdout.splitlines() if line.startswith("ROLE ")]
        return json.loads(lines[0].removeprefix("ROLE ")) if lines else None

    return dict(lab.wait(find, f"{pod} tells its role"))


@pytest.fixture(scope="module")
def roles(module_lab: Lab) -> Lab:
    """A job for each withGloo, one of them with heter trainers, all completed.

    Gloo listens on all addresses of the machine, where another run of these tests may listen too.
    """
    first = random.randrange(20_000, 28_000, 400)
    for with_gloo, name in JOBS.items():
        pods = template(first + 100 * with_gloo)
        counts = COUNTS | ({"heter": 2} if name == "heter" else {})
        roles = {role: (count, pods) for role, count in counts.items()}
        module_lab.submit(paddle_job(name, roles, withGloo=with_gloo, cleanPodPolicy="Never"))
    module_lab.wait_all(JOBS.values(), "Completed", timeout_seconds=400)
    return module_lab


@pytest.mark.parametrize("with_gloo", GLOO)
@pytest.mark.parametrize("pod", ["ps-0", "worker-0", "worker-1"])
def test_with_gloo_reaches_the_role_maker(roles: Lab, with_gloo: int, pod: str) -> None:
    told = told_by(roles, f"{JOBS[with_gloo]}-{pod}")
    assert (told["gloo"], told["everyone"]) == GLOO[with_gloo]


@pytest.mark.parametrize("with_gloo", [1, 2])
def test_gloo_connects_the_workers(roles: Lab, with_gloo: int) -> None:
    for index in range(COUNTS["worker"]):
        assert told_by(roles, f"gloo-{with_gloo}-worker-{index}")["gathered"] == [0, 1]


@pytest.mark.parametrize(
    ("pod", "role", "index"),
    [
        ("ps-0", "server", 0),
        ("worker-0", "worker", 0),
        ("worker-1", "worker", 1),
        ("heter-0", "heter", 2),
        ("heter-1", "heter", 3),
    ],
)
def test_heter_pod_knows_who_it_is(roles: Lab, pod: str, role: str, index: int) -> None:
    told = told_by(roles, f"heter-{pod}")
    assert (told["role"], told["index"]) == (role, index)


@pytest.mark.parametrize("pod", ["ps-0", "worker-0", "worker-1", "heter-0", "heter-1"])
def test_heter_pod_knows_its_peers(roles: Lab, pod: str) -> None:
    told = told_by(roles, f"heter-{pod}")
    port = roles.get("/api/v1", "configmaps/heter")["data"]["PADDLE_PORT"]
    everyone = {
        role: [f"{p['status']['podIP']}:{port}" for p in roles.pods("heter", role)]
        for role in ("ps", "worker", "heter")
    }
    assert told["servers"] == everyone["ps"]
    assert told["workers"] == everyone["worker"]
    assert told["heters"] == everyone["heter"]


def test_heter_stages_follow_one_another(roles: Lab) -> None:
    worker, heter = told_by(roles, "heter-worker-0"), told_by(roles, "heter-heter-0")
    assert worker["next"] == worker["heters"]
    assert heter["previous"] == heter["workers"]
    assert worker["stage"] == [1, 2, [2, 2]]
    assert heter["stage"] == [2, 2, [2, 2]]


def test_heter_job_completes_by_its_workers(roles: Lab) -> None:
    assert roles.status("heter")["mode"] == "Heter"
    roles.wait(lambda: roles.status("heter")["heter"]["running"] == 2, "both heter trainers run")
