"""examples/ctr.yaml, a job of 2019 on Volcano: its gang, its variables, and when it is made again.

The image's own entry point runs ENTRY; here that is a shell script in place of the training.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.constants import LABEL_ATTEMPT
from tests.live import volcano
from tests.live.lab import CORE, Lab, environment_of
from tests.live.operated import CHECKOUT

Raw = dict[str, Any]
FILE = CHECKOUT / "examples" / "ctr.yaml"
SERVE = '[ "$TRAINING_ROLE" = TRAINER ] || exec sleep 3600; cd /workspace/ctr/models'
ENTRIES = {
    "ends": f"{SERVE}; touch $PADDLE_TRAINER_ID",
    "fails": f'{SERVE}; if [ "$PADDLE_TRAINER_ID" = 1 ] && mkdir failed; then exit 7; fi',
    "evicted": f"{SERVE}; if mkdir $PADDLE_TRAINER_ID; then exec sleep 3600; fi",
}
"""By job. What a trainer has made on the volume tells it from its second life."""
ROLES = ("ps", "worker")
RESTARTS = ("fails", "evicted")


def ctr_job(name: str, entry: str, models: Path) -> Raw:
    """The example with this ENTRY, its models in a folder of the host."""
    job: Raw = yaml.safe_load(FILE.read_text())
    job["metadata"]["name"] = name
    volume = {"name": "models", "hostPath": {"path": str(models / name)}}
    for role in ROLES:
        # What the file writes once is the same object in both roles.
        spec = job["spec"][role]["template"]["spec"] = copy.deepcopy(
            job["spec"][role]["template"]["spec"]
        )
        spec["volumes"] = [volume]
        for variable in spec["containers"][0]["env"]:
            if variable["name"] == "ENTRY":
                variable["value"] = entry
    return job


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, models: Path) -> Lab:
    """All of them, completed."""
    for name, entry in ENTRIES.items():
        module_lab.submit(ctr_job(name, entry, models))
    module_lab.wait_phase("evicted", "Running")
    pod = "evicted-worker-1"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    path = f"{CORE}/namespaces/{module_lab.namespace}/pods/{pod}/eviction"
    module_lab.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    module_lab.wait_all(ENTRIES, "Completed")
    return module_lab


def test_four_pods_are_one_gang(jobs: Lab) -> None:
    group = jobs.status("ends")["podGroup"]
    assert jobs.get(volcano.API, f"podgroups/{group}")["spec"]["minMember"] == 4
    pods = jobs.pods("ends")
    assert len(pods) == 4
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}


@pytest.mark.parametrize("name", RESTARTS)
def test_all_are_made_again_when_one_fails_or_is_evicted(jobs: Lab, name: str) -> None:
    attempts = [pod["metadata"]["labels"][LABEL_ATTEMPT] for pod in jobs.pods(name)]
    assert attempts == [attempts[0]] * 4
    assert attempts[0] != jobs.pods("ends")[0]["metadata"]["labels"][LABEL_ATTEMPT]
    assert jobs.status(name)["restartCount"] == 1


def test_a_failure_is_charged_and_an_eviction_is_not(jobs: Lab) -> None:
    assert [jobs.status(name).get("failureCount", 0) for name in RESTARTS] == [1, 0]


@pytest.mark.parametrize("name", ENTRIES)
def test_is_complete_when_the_trainers_are(jobs: Lab, name: str) -> None:
    jobs.wait_printed(name, "Completed", "PS", "2/2", "0/2")


def test_models_lie_on_the_volume(jobs: Lab, models: Path) -> None:
    written = (models / "ends" / "ctr-volcano").iterdir()
    assert sorted(path.name for path in written) == ["0", "1"]


@pytest.mark.parametrize(
    ("label", "role"), [("paddle-job-pserver=fluid-ctr", "ps"), ("paddle-job=fluid-ctr", "worker")]
)
def test_template_labels_reach_the_pods(jobs: Lab, label: str, role: str) -> None:
    names = {each["metadata"]["name"] for each in jobs.items(CORE, "pods", label)}
    assert {f"ends-{role}-0", f"ends-{role}-1"} <= names
    assert all(f"-{role}-" in name for name in names)


def test_old_variables_say_who_and_where_all_are(jobs: Lab) -> None:
    addresses = {
        role: [pod["status"]["podIP"] for pod in jobs.pods("ends", role)] for role in ROLES
    }
    trainer = environment_of(jobs.log("ends-worker-1"))
    wanted = {
        "PADDLE_JOB_NAME": "ends",
        "PADDLE_IS_LOCAL": "0",
        "PADDLE_PORT": "30236",
        "PADDLE_PSERVERS": ",".join(addresses["ps"]),
        "PADDLE_PSERVERS_NUM": "2",
        "PADDLE_TRAINER_IPS": ",".join(addresses["worker"]),
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_CURRENT_IP": addresses["worker"][1],
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_TRAINER_ID": "1",
    }
    assert trainer == wanted


def test_server_has_its_own_index(jobs: Lab) -> None:
    server = environment_of(jobs.log("ends-ps-1"))
    assert (server["TRAINING_ROLE"], server["PADDLE_PSERVER_ID"]) == ("PSERVER", "1")


def test_port_of_the_template_is_in_every_endpoint(jobs: Lab) -> None:
    told = jobs.get(CORE, "configmaps/ends")["data"]
    assert told["PADDLE_PORT"] == "30236"
    for variable in ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINER_ENDPOINTS"):
        endpoints = told[variable].split(",")
        assert len(endpoints) == 2
        assert all(endpoint.endswith(":30236") for endpoint in endpoints)
