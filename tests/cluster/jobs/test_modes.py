"""The modes of a job, each in the smallest form that completes."""

import pytest

from tests.live.lab import SERVER, Lab, paddle_job, shell

END = shell("env")
MODES = {
    "single": ("Single", {"worker": (1, END)}),
    "collective": ("Collective", {"worker": (2, END)}),
    "ps": ("PS", {"ps": (1, SERVER), "worker": (2, END)}),
    "heter": ("Heter", {"ps": (1, SERVER), "worker": (1, END), "heter": (1, SERVER)}),
}


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """One job of each mode, all at once."""
    module_lab.submit(
        *(paddle_job(name, roles, cleanPodPolicy="Never") for name, (_, roles) in MODES.items())
    )
    return module_lab


@pytest.mark.parametrize("name", MODES)
def test_completes_by_its_workers(jobs: Lab, name: str) -> None:
    assert jobs.wait_completed(name)["mode"] == MODES[name][0]
