"""The modes of a job, each in the smallest form that completes."""

import pytest

from tests.live.lab import SERVER, Lab, environment_of, paddle_job, shell

END = shell("env")
MODES = {
    "single": ("Single", {"worker": (1, END)}, "PADDLE_TRAINERS_NUM"),
    "collective": ("Collective", {"worker": (2, END)}, "PADDLE_TRAINER_ENDPOINTS"),
    "ps": ("PS", {"ps": (1, SERVER), "worker": (2, END)}, "PADDLE_PSERVERS_IP_PORT_LIST"),
    "heter": (
        "Heter",
        {"ps": (1, SERVER), "worker": (1, END), "heter": (1, SERVER)},
        "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST",
    ),
}


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """One job of each mode, all at once."""
    module_lab.submit(
        *(paddle_job(name, roles, cleanPodPolicy="Never") for name, (_, roles, _) in MODES.items())
    )
    return module_lab


@pytest.mark.parametrize("name", MODES)
def test_completes_by_its_workers(jobs: Lab, name: str) -> None:
    assert jobs.wait_completed(name)["mode"] == MODES[name][0]


@pytest.mark.parametrize("name", MODES)
def test_workers_read_their_peers_from_the_config_map(jobs: Lab, name: str) -> None:
    jobs.wait_completed(name)
    variable = MODES[name][2]
    told = jobs.get("/api/v1", f"configmaps/{name}")["data"]
    assert environment_of(jobs.log(f"{name}-worker-0"))[variable] == told[variable]
