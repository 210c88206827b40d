"""Launchers that are given their peers' list, and all the jobs whose launchers are not."""

from typing import Any

import pytest

from api.constants import ANNOTATION_STATIC_RENDEZVOUS, PORTS_PER_POD, Role
from api.job import pod_name
from api.objects import Raw
from reconcile.model.view import View
from reconcile.objects.rendezvous import build_config_map
from reconcile.objects.templates import build_pod
from tests.memory.builders import JobBuilder, a_job, a_pod, view_of

LAUNCH = ("python", "-m", "paddle.distributed.launch")
OFF = {ANNOTATION_STATIC_RENDEZVOUS: "false"}
LIST = {"PADDLE_IPS", "PADDLE_START_PORT", "PADDLE_NNODES"}
ENDPOINTS = "PADDLE_TRAINER_ENDPOINTS"


def running(*command: str, env: dict[str, str] | None = None, **fields: Any) -> Raw:
    """A template whose trainer runs this; further fields of the container."""
    entries = [{"name": name, "value": value} for name, value in (env or {}).items()]
    container = {"name": "paddle", "command": list(command), "env": entries, **fields}
    return {"spec": {"containers": [container]}}


def script(text: str) -> Raw:
    return running("sh", "-c", text)


def workers(count: int = 2, template: Raw | None = None, **spec: Any) -> JobBuilder:
    return a_job().with_workers(count, template or running(*LAUNCH, "train.py")).with_spec(**spec)


def placed(job: JobBuilder, network: str = "10.0.1.{}") -> View:
    """A job whose pods all have addresses."""
    raw = job.build()
    pods = [
        a_pod(raw, role, at).running(address=network.format(at + 1 + 100 * number))
        for number, role in enumerate(Role)
        for at in range(raw["spec"].get(str(role), {}).get("replicas", 0))
    ]
    return view_of(raw, *pods)


def told(job: JobBuilder, network: str = "10.0.1.{}") -> dict[str, str]:
    data: dict[str, str] = build_config_map(placed(job, network))["data"]
    return data


GIVEN = {
    "module": running(*LAUNCH, "train.py", "--lr", "1"),
    "fleetrun": running("/usr/bin/fleetrun", "--gpus=0,1", "train.py"),
    "image's entry point": running(command=[], args=[*LAUNCH, "/workspace/train.py"]),
    "options": running(*LAUNCH, "--log_dir", "/log dir", "--devices", "0,1", "train.py"),
    "script": script("cd /x && exec python3.11 -u -m paddle.distributed.launch \\\n train.py"),
    "20 processes": running(*LAUNCH, f"--nproc_per_node={PORTS_PER_POD}", "train.py"),
    "20 by variable": running(*LAUNCH, "train.py", env={"PADDLE_NPROC_PER_NODE": "20"}),
    "python runs a file": running("python3.10", "-u", "/opt/bin/fleetrun", "train.py"),
    "installed program": running(*LAUNCH, "/usr/lib/python3.10/site-packages/tools/train.py"),
    "backend": running(*LAUNCH, "train.py", env={"PADDLE_XCCL_BACKEND": "npu"}),
    "own MASTER_ADDR": running(*LAUNCH, "train.py", env={"MASTER_ADDR": "10.0.0.9"}),
}
NOT_GIVEN = {
    "plain": running("python", "train.py"),
    "no command": running(command=[]),
    "wrapper": running("./run.sh"),
    "module of its own": running(*LAUNCH, "trainer"),
    "the old launcher": running("python", "-m", "paddle.distributed.fleet.launch", "train.py"),
    "another program first": script(f"python sync.py && {' '.join(LAUNCH)} train.py"),
    "launcher only named": script("which fleetrun && python train.py"),
    "another program after": script("fleetrun train.py && python eval.py"),
    "a script after": script("fleetrun train.py && ./eval.sh"),
    "a script that is written": script("cat > run.sh <<E\nfleetrun train.py\nE\nsh run.sh"),
    "a wrapper of the launcher": running("./run.sh", "fleetrun", "train.py"),
    "launcher in a comment": script("# fleetrun train.py\n./start"),
    "another shell's program": script("fleetrun train.py && sh -c 'python eval.py'"),
    "another program's argument": running("python", "wrap.py", "paddle.distributed.launch", "a.py"),
    "another program's option": running("python", "wrap.py", "--by", "fleetrun", "train.py"),
    "two launchers": script("fleetrun a.py && fleetrun b.py"),
    "options of the shell": script("fleetrun $OPTIONS train.py"),
    "options of the kubelet": running(*LAUNCH, "--nproc_per_node", "$(NPROC)", "train.py"),
    "such an option of the program": running(*LAUNCH, "train.py", "--master", "10.0.0.9"),
    "unknown option": running(*LAUNCH, "--nproc", "2", "train.py"),
    "too long to read": script(f"fleetrun train.py {'x' * 100_000}"),
    "open quote": script("fleetrun 'train.py"),
    "endpoints in the script": script(f"fleetrun train.py --peers ${ENDPOINTS}"),
    "peers in the script": script("PADDLE_NNODES=1 fleetrun train.py"),
    "envFrom": running(*LAUNCH, "train.py", envFrom=[{"configMapRef": {"name": "mine"}}]),
    "30 processes": running(*LAUNCH, "--nproc_per_node", "30", "train.py"),
    "30 by variable": running(*LAUNCH, "train.py", env={"PADDLE_NPROC_PER_NODE": "30"}),
    "30 devices": running(*LAUNCH, "--devices", ",".join(map(str, range(30))), "train.py"),
    "too long a number": running(*LAUNCH, "--nproc_per_node", "9" * 5000, "train.py"),
    "odd number": running(*LAUNCH, "train.py", env={"PADDLE_NPROC_PER_NODE": ""}),
} | {
    f"own {name}": running(*LAUNCH, "train.py", env={name: "10.0.0.9"})
    for name in ("PADDLE_IPS", "PADDLE_MASTER", "PADDLE_NNODES", ENDPOINTS, "POD_IP")
} | {
    option: running(*LAUNCH, option, "1", "train.py")
    for option in ("--master", "--ips", "--nnodes=1", "--rank", "--legacy", "--auto_tuner_json")
}  # fmt: skip


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
@pytest.mark.parametrize("template", GIVEN.values(), ids=GIVEN)
def test_launchers_are_given_hosts_and_a_port_in_place_of_endpoints(template, intranet):
    found = told(workers(2, template, intranet=intranet))
    names = ["train-worker-0.default", "train-worker-1.default"]
    hosts = names if intranet == "Service" else ["10.0.1.101", "10.0.1.102"]
    assert found["PADDLE_IPS"].split(",") == hosts
    assert (found["PADDLE_START_PORT"], found["PADDLE_NNODES"]) == ("36000", "2")
    assert ENDPOINTS not in found


@pytest.mark.parametrize("template", NOT_GIVEN.values(), ids=NOT_GIVEN)
def test_whatever_else_a_worker_runs_is_given_endpoints(template):
    found = told(workers(2, template))
    assert found[ENDPOINTS] == "10.0.1.101:36000,10.0.1.102:36000"
    assert not LIST & set(found)


@pytest.mark.parametrize(
    ("job", "network", "endpoints"),
    [
        pytest.param(workers(1), "10.0.1.{}", "10.0.1.101:36000", id="one worker"),
        pytest.param(workers(), "fd::{}", "[fd::101]:36000,[fd::102]:36000", id="IPv6"),
        pytest.param(
            workers().with_metadata(annotations=OFF),
            *("10.0.1.{}", "10.0.1.101:36000,10.0.1.102:36000"),
            id="turned off",
        ),
    ],
)
def test_jobs_without_a_list(job, network, endpoints):
    found = told(job, network)
    assert found[ENDPOINTS] == endpoints
    assert not LIST & set(found)


def test_port_of_the_list_is_the_template_s():
    template = running(*LAUNCH, "train.py", env={"PADDLE_PORT": "30100"})
    assert told(workers(2, template))["PADDLE_START_PORT"] == "30100"


@pytest.mark.parametrize("count", [1, 3])
def test_workers_scaled_while_suspended_know_each_other(world, count):
    world.begin(workers(2, suspend=True))
    worker = world.job()["spec"]["worker"] | {"replicas": count}
    world.edit_spec(worker=worker, suspend=False)
    world.run()
    data = world.get("ConfigMap", "train")["data"]
    assert len(data.get("PADDLE_IPS", "alone").split(",")) == count
    assert data["PADDLE_TRAINERS_NUM"] == str(count)
    assert (ENDPOINTS in data) == (count == 1)


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_every_pod_finds_its_own_address_in_the_list(intranet):
    """A launcher whose POD_IP is not in it takes rank 0 and says nothing."""
    view = placed(workers(12, intranet=intranet))
    hosts = build_config_map(view)["data"]["PADDLE_IPS"].split(",")
    for index, host in enumerate(hosts):
        name = pod_name("train", Role.WORKER, index)
        (container,) = build_pod(view, name, None)["spec"]["containers"]
        (entry,) = (each for each in container["env"] if each["name"] == "POD_IP")
        if "valueFrom" in entry:
            assert entry["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
            (raw,) = (each for each in view.observed.pods if each["metadata"]["name"] == name)
            assert raw["status"]["podIP"] == host
        else:
            assert entry["value"] == host
        assert "." in host, "the launcher ignores a POD_IP without one"


LAUNCHING = running(*LAUNCH, "train.py")
ON_ITS_NODE = running(*LAUNCH, "train.py")
ON_ITS_NODE["spec"]["hostNetwork"] = True
PORTS = {"train-worker-0": 30100, "train-worker-1": 30200}
OTHERS = {
    "ps": workers().with_ps(2, LAUNCHING),
    "heter": workers().with_ps(1, LAUNCHING).with_heter(2, LAUNCHING),
    "elastic": workers(elastic=1),
    "Host": workers(intranet="Host").with_status(hostPorts=PORTS),
    "on its node": workers(2, ON_ITS_NODE),
}


@pytest.mark.parametrize("job", OTHERS.values(), ids=OTHERS)
def test_the_list_changes_nothing_for_jobs_of_other_modes(job):
    on, off = placed(job), placed(job.with_metadata(annotations=OFF))
    assert build_config_map(on) == build_config_map(off)
    assert [build_pod(on, name, None) for name in on.wanted] == [
        build_pod(off, name, None) for name in off.wanted
    ]


def test_pod_with_another_address_than_in_the_list_restarts_the_job(world):
    world.run(workers())
    assert "PADDLE_IPS" in world.get("ConfigMap", "train")["data"]
    assert world.phase() == "Running"
    world.kubelet.give_address("train-worker-1")
    world.settle()
    assert world.status()["attempt"] == 2
