"""A reader follows the guide and the pages beside it, on a cluster without operator.

They run the guide up to its last section, the page on pods, the jobs beside this, the one on gangs,
and then what cleans up and uninstalls. Each whole YAML is saved under its job's name, and each
command has to succeed: those that wait make the reader wait. The Chinese pages have the same blocks
(tests/unit/test_documents.py).
"""

import re
from pathlib import Path

import pytest
import yaml

from localcluster.machine import clock
from tests.live import patience
from tests.manuals.conftest import Desk
from tests.manuals.source import CHECKOUT
from tests.manuals.walk import Step, Walk

pytestmark = [pytest.mark.training, pytest.mark.cluster]

NFS = "nfs.example.com/nas"
PASS = "pass-00002"
LEAST_BYTES = 10_000
"""Of a model that has seen samples."""
DOCS = CHECKOUT / "docs"
FOLDER = CHECKOUT / "tests" / "manuals" / "jobs"
JOBS, GANGS = sorted(FOLDER.glob("*.yaml")), sorted((FOLDER / "gangs").glob("*.yaml"))
"""What the pages say without a YAML of its own: addresses, roles, nodes, sidecars."""
BLOCK = re.compile(r"^```(yaml|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FINISHED = re.compile(r"(.+) wait --for=condition=Finished (\S+) --timeout=\S+")
IN = "kubectl -n training"
ASKED_AGAIN = {
    f"{IN} logs heter-heter-0": "stage",
}
"""What comes a moment after the end of a job: whoever does not see it yet asks again."""


@pytest.fixture(scope="module")
def read(desk: Desk) -> Walk:
    """All of it, done."""
    walk = desk.reader()
    guide, _, end = (DOCS / "guide.md").read_text().partition("\n## Clean up\n")
    follow(walk, guide + (DOCS / "pods.md").read_text())
    submit(walk, JOBS)
    run(walk, [f"{IN} logs {file.stem}-worker-0 --container=paddle" for file in JOBS])
    run(walk, [f"{IN} logs heter-heter-0", f"{IN} logs on-hosts-worker-1"])
    follow(walk, (DOCS / "gangs.md").read_text())
    submit(walk, GANGS)
    run(walk, [f"{IN} get podgroups.scheduling.volcano.sh"])
    run(walk, [f"{IN} get pdj -o {columns('.status.podGroup')}"])
    run(walk, [f"{IN} get pods -o {columns('.spec.schedulingGroup.podGroupName')}"])
    _, _, uninstall = (DOCS / "install.md").read_text().partition("\n## Uninstall\n")
    follow(walk, end + uninstall)
    return walk


def submit(walk: Walk, files: list[Path]) -> None:
    """Create the jobs, and wait for their ends."""
    run(walk, [f"{IN} create {' '.join(f'-f {file}' for file in files)}"])
    names = [file.stem for file in files]
    run(walk, [f"{IN} wait --for=condition=Finished pdj/{name} --timeout=10m" for name in names])


def columns(group: str) -> str:
    """Each object's name, and its group at this path."""
    return f"custom-columns=NAME:.metadata.name,GROUP:{group}"


def follow(walk: Walk, page: str) -> None:
    """Save each whole YAML of a page, and run each command."""
    for language, text in BLOCK.findall(page):
        if language == "bash":
            run(walk, text.splitlines())
        elif "apiVersion:" in text:
            save(walk.folder, text)


def run(walk: Walk, commands: list[str]) -> None:
    """Run them, and look at the job of each that waits for one."""
    for command in commands:
        walk.step(Step(command, ASKED_AGAIN.get(command, "")))
        check_result(walk, command)


def check_result(walk: Walk, command: str) -> None:
    """A job that was waited for has its result: a failed one is finished, too."""
    if waited := FINISHED.fullmatch(command):
        look = f"{waited[1]} get {waited[2]} -o jsonpath={{.status.phase}}"
        assert walk.step(Step(look)) == "Completed", command


def save(folder: Path, text: str) -> None:
    """As the pages say: under the job's name."""
    job = next(yaml.safe_load_all(text))
    (folder / f"{job['metadata']['name']}.yaml").write_text(text)


def test_finished_jobs_are_printed_as_shown(read: Walk) -> None:
    said = [said.splitlines() for command, said in read.said if command == f"{IN} get pdj"]
    lines = [line.split()[:-1] for table in said for line in table]
    assert ["first", "Completed", "Collective", "0/2"] in lines
    assert ["wide-ande-deep", "Completed", "PS", "2/2", "0/2"] in lines


@pytest.mark.parametrize("job", ["wide-ande-deep", "resnet", "paddle-cluster-job"])
def test_worker_has_trained(read: Walk, job: str) -> None:
    log = read.last(f"{IN} logs {job}-worker-0")
    assert re.search(r"on (all|2) workers", log)
    assert "model saved in" in log


def test_one_worker_is_told_of_itself(read: Walk) -> None:
    told = read.last(f"{IN} logs single-worker-0").splitlines()
    assert {"PADDLE_TRAINERS_NUM=1", "PADDLE_TRAINER_ID=0"} <= set(told)


def test_service_is_an_endpoint_with_its_namespace(read: Walk) -> None:
    name, _, endpoints = read.last(f"{IN} logs by-name-worker-0").split()
    assert name == "by-name-worker-0.training"
    assert endpoints.split(",") == [f"by-name-worker-{n}.training:36000" for n in range(2)]


def test_ports_on_the_hosts_are_the_pods_own(read: Walk) -> None:
    endpoint, _, others = read.last(f"{IN} logs on-hosts-worker-1").split()
    assert endpoint in others.split(",")
    assert len({each.rpartition(":")[2] for each in others.split(",")}) == 2


def test_heter_trainers_are_the_second_stage(read: Walk) -> None:
    assert read.last(f"{IN} logs heter-heter-0") == "stage 2 of 2"
    assert read.last(f"{IN} logs heter-worker-0").count(":36000") == 2


def test_gangs_are_groups(read: Walk) -> None:
    volcanos = read.last(f"{IN} get pdj -o custom-columns")
    assert re.search(r"^gang +gang$", volcanos, re.MULTILINE)
    assert re.search(r"^gang-of-its-own +gang-of-its-own-\w{8}$", volcanos, re.MULTILINE)
    assert re.search("^gang ", read.last(f"{IN} get podgroups"), re.MULTILINE)
    kubernetes = read.last(f"{IN} get pods -o custom-columns")
    assert re.search(r"^in-tree-gang-worker-0 +in-tree-gang-\w{8}$", kubernetes, re.MULTILINE)


def test_image_of_2019_reads_its_variables_and_leaves_its_models(read: Walk, desk: Desk) -> None:
    assert "TRAINING_ROLE=TRAINER" in read.last(f"{IN} logs ctr-volcano-worker-0").splitlines()
    assert (desk.folder / "nfs" / NFS / "ctr-volcano" / PASS / "done").exists()


def test_program_and_data_on_a_volume_are_trained(read: Walk, desk: Desk) -> None:
    parts = (desk.folder / "nfs" / NFS / "model").glob("*/part-*")
    assert sum(part.stat().st_size for part in parts) > LEAST_BYTES


def test_cut_data_is_trained_by_trainer(read: Walk, desk: Desk) -> None:
    output = desk.folder / "nfs" / NFS / "paddle-cluster-job" / "output"
    for node in range(3):
        assert "2400 on all workers" in (output / f"node_{node}" / "train.log").read_text()
        assert "serving" in (output / f"node_{node}" / "server.log").read_text()
    assert (output / PASS / "done").exists()


def test_nothing_is_left(read: Walk, desk: Desk) -> None:
    """The Deployment's pods go after it."""
    assert clock.wait_until(lambda: not desk.cluster.get("/api/v1/pods")["items"], patience.SECONDS)
    assert "paddle" not in desk.cluster.kubectl("get", "crd").stdout
