"""examples/ctr.yaml, a job of 2019 on Volcano: its labels, variables and ports.

The image's own entry point runs ENTRY; here that is a shell script in place of the training.
"""

import copy

import pytest
import yaml

from tests.live.lab import CORE, Lab, Raw, environment_of
from tests.live.operated import CHECKOUT

FILE = CHECKOUT / "examples" / "ctr.yaml"
SERVE = '[ "$TRAINING_ROLE" = TRAINER ] || exec sleep 3600; cd /workspace/ctr/models'
ENTRY = f"{SERVE}; touch $PADDLE_TRAINER_ID"
ROLES = ("ps", "worker")


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The example with this ENTRY, its models in a folder of the host; completed."""
    job: Raw = yaml.safe_load(FILE.read_text())
    job["metadata"]["name"] = "ends"
    models = {"name": "models", "hostPath": {"path": str(tmp_path_factory.mktemp("models"))}}
    for role in ROLES:
        # What the file writes once is the same object in both roles.
        spec = job["spec"][role]["template"]["spec"] = copy.deepcopy(
            job["spec"][role]["template"]["spec"]
        )
        spec["volumes"] = [models]
        for variable in spec["containers"][0]["env"]:
            if variable["name"] == "ENTRY":
                variable["value"] = ENTRY
    module_lab.submit(job)
    module_lab.wait_completed("ends")
    return module_lab


def test_is_complete_when_the_trainers_are(jobs: Lab) -> None:
    jobs.wait_printed("ends", "Completed", "PS", "2/2", "0/2")


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


def test_port_of_the_template_is_in_every_endpoint(jobs: Lab) -> None:
    told = jobs.get(CORE, "configmaps/ends")["data"]
    assert told["PADDLE_PORT"] == "30236"
    for variable in ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINER_ENDPOINTS"):
        endpoints = told[variable].split(",")
        assert len(endpoints) == 2
        assert all(endpoint.endswith(":30236") for endpoint in endpoints)
