"""Whoever has the folder of a release, and nothing else, installs it and upgrades to it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from api.constants import RELEASE
from localcluster import Cluster, ClusterConfig
from release.folder import SUMS, write
from tests.live import patience
from tests.live.installers import CHECKOUT, NAMESPACE, Helm
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import CRD, WORKLOAD, roll_out
from tests.live.scrape import scrape

IMAGE = "registry.example.com/platform/paddlejob-operator"
REPOSITORY = "https://git.example.com/platform/paddlejob-operator"
CHART = f"paddlejob-operator-{RELEASE}.tgz"
FIRST, FIRST_COMMIT = "0.1.0", "0ef02e18768d96f622cad0fb391ffcf35419fb7c"
"""The first release, which had no chart, as the history has it."""
OURS = "app.kubernetes.io/name=paddlejob-operator"
JOBS = [f"train-{number}" for number in range(20)]
PATIENT = patience.IN_KUBECTL


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one page: what makes the real one comes from the network."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<p>PaddleJob")
    return folder


@pytest.fixture(scope="module")
def folder(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    write(folder, site, IMAGE, REPOSITORY)
    return folder


def check_sums(folder: Path) -> str:
    """Empty if all files are there as they were."""
    command = ["sha256sum", "--check", "--quiet", SUMS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stdout), done.stderr
    return done.stdout


def test_a_second_build_has_the_same_bytes(folder: Path, site: Path, tmp_path: Path) -> None:
    """By another process, with another order of hashes and another mode of files."""
    program = "import os, sys; from pathlib import Path; from release.folder import write\n"
    program += "os.umask(0o077); write(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])"
    command = [sys.executable, "-c", program, str(tmp_path / "second"), str(site)]
    variables = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([*command, IMAGE, REPOSITORY], cwd=CHECKOUT, env=variables, check=True)
    assert (tmp_path / "second" / SUMS).read_text() == (folder / SUMS).read_text()


def test_every_file_but_the_sums_has_its_sum(folder: Path) -> None:
    named = {line.split()[1] for line in (folder / SUMS).read_text().splitlines()}
    assert named == {each.name for each in folder.iterdir()} - {SUMS}
    assert check_sums(folder) == ""


@pytest.mark.parametrize("name", ["install.yaml", CHART])
def test_a_file_that_is_missing_or_changed_is_named(
    folder: Path, name: str, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    with (tmp_path / name).open("ab") as changed:
        changed.write(b"#")
    assert check_sums(tmp_path) == f"{name}: FAILED\n"
    (tmp_path / name).unlink()
    assert check_sums(tmp_path) == f"{name}: FAILED open or read\n"


def test_every_file_says_the_number(folder: Path, tmp_path: Path) -> None:
    chart = yaml.safe_load(member(folder / CHART, "paddlejob-operator/Chart.yaml"))
    values = yaml.safe_load(member(folder / CHART, "paddlejob-operator/values.yaml"))
    (image,) = re.findall(
        r"^ +image: (\S+/\S+)$", (folder / "install.yaml").read_text(), re.MULTILINE
    )
    assert image == f"{IMAGE}:{RELEASE}" == f"{values['image']['repository']}:{chart['appVersion']}"
    assert (chart["version"], chart["home"]) == (RELEASE, REPOSITORY)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        about = files.read(f"paddlejob-{RELEASE}.dist-info/METADATA").decode()
    assert f"\nVersion: {RELEASE}\n" in about
    krew = yaml.safe_load((folder / "pdj.yaml").read_text())["spec"]
    assert krew["version"] == f"v{RELEASE}"
    assert krew["platforms"][0]["uri"].startswith(f"{REPOSITORY}/releases/download/v{RELEASE}/")
    program = tmp_path / "kubectl-pdj"
    program.write_bytes(member(folder / "kubectl-pdj.tar.gz", "kubectl-pdj"))
    said = subprocess.check_output([sys.executable, program, "version", "--client"], text=True)
    assert said.startswith(f"kubectl-pdj   {RELEASE} ")
    sbom = json.loads((folder / "sbom.json").read_text())
    assert sbom["metadata"]["component"]["version"] == RELEASE


def member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as files:
        found = files.extractfile(name)
        assert found, name
        return found.read()


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the first release."""
    folder = tmp_path_factory.mktemp("first")
    command = ["git", "-C", str(CHECKOUT), "archive", FIRST_COMMIT]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"the history here does not go back to {FIRST}")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=done.stdout, check=True)
    return folder


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    """A cluster that has both images."""

    def image(sources: Path) -> dict[str, object]:
        command = ["python", "-m", "controller"]
        folders = {"/workspace": str(sources)}
        return {"folders": folders, "command": command, "environment": "operator"}

    first = request.getfixturevalue("first_release")
    images = {f"paddlejob-operator:{FIRST}": image(first), f"{IMAGE}:{RELEASE}": image(CHECKOUT)}
    table = tmp_path_factory.mktemp("images") / "images.yaml"
    table.write_text(yaml.safe_dump({"images": images}))
    with Cluster(ClusterConfig(nodes=1, images=[table])) as running:
        yield running


def apply(cluster: Cluster, *files: Path) -> None:
    """As the documents say it, from the installation to the rollback; and wait for the operator."""
    named = [word for file in files for word in ("-f", str(file))]
    cluster.kubectl("apply", "--server-side", *named)
    roll_out(cluster, "get", WORKLOAD)


def complete(lab: Lab, name: str) -> None:
    lab.submit(paddle_job(name, {"worker": (1, shell("exit 0"))}))
    lab.wait_completed(name)


def pods_of_running(lab: Lab) -> dict[str, str]:
    """The UIDs of the jobs' pods; fails where an attempt was counted."""
    status = {job: lab.status(job) for job in JOBS}
    assert {each["phase"] for each in status.values()} == {"Running"}
    assert not any(each.get("restartCount") for each in status.values())
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"] for job in JOBS for pod in lab.pods(job)
    }


def test_jobs_live_through_the_upgrade_from_the_first_release_and_back(
    cluster: Cluster, folder: Path, first_release: Path
) -> None:
    first = [first_release / "manifests" / "v1" / "crd.yaml"]
    first.append(first_release / "manifests" / "v1" / "operator-all-namespaces.yaml")
    lab = Lab(cluster, "default")
    apply(cluster, *first)
    complete(lab, "first")
    lab.submit(*(paddle_job(job, {"worker": (1, shell("exec sleep 3600"))}) for job in JOBS))
    lab.wait_all(JOBS, "Running")
    before = pods_of_running(lab)
    assert len(before) == len(JOBS)

    apply(cluster, folder / "install.yaml")
    complete(lab, "upgraded")
    assert pods_of_running(lab) == before
    assert lab.condition("upgraded", "Finished"), "the new operator has run it"

    apply(cluster, *first)
    complete(lab, "back")
    assert pods_of_running(lab) == before
    assert not lab.condition("back", "Finished"), "the first operator has run it"


def readme(pattern: str, folder: Path) -> list[list[str]]:
    """The kubectl commands of README that match, with the folder's files; without `kubectl`."""
    text = (CHECKOUT / "README.md").read_text()
    text = re.sub(rf"https://\S+/releases/download/v{re.escape(RELEASE)}/", f"{folder}/", text)
    text = text.replace("-f deploy/examples/", f"-f {folder}/")
    return [line.split()[1:] for line in re.findall(rf"^kubectl {pattern}", text, re.MULTILINE)]


@pytest.mark.training
def test_the_first_job_of_readme_trains(cluster: Cluster, folder: Path) -> None:
    (install,) = readme(r"apply .*install\.yaml$", folder)
    assert f"{folder}/install.yaml" in install
    cluster.kubectl(*install)
    roll_out(cluster, "get", WORKLOAD)
    create, submit, wait, log = readme(r"(?:create namespace|-n training (?!get)).*", folder)
    for command in (create, submit, wait):
        cluster.kubectl(*command, timeout_seconds=patience.SECONDS)
    assert "step 100 of 100 on 2 workers" in cluster.kubectl(*log).stdout


def test_the_chart_of_the_folder_installs(cluster: Cluster, folder: Path) -> None:
    """After all that other tests have installed is gone."""
    cluster.kubectl("delete", "crd", CRD, "--ignore-not-found", timeout_seconds=patience.SECONDS)
    kinds = "deployment,service,serviceaccount,rolebinding,role,clusterrolebinding,clusterrole"
    cluster.kubectl("-n", NAMESPACE, "delete", kinds, "-l", OURS)
    install = ("install", "paddlejob", str(folder / CHART), "--create-namespace", "--wait")
    Helm(cluster).run(*install, PATIENT)
    deployment = Lab(cluster, NAMESPACE).get("/apis/apps/v1", "deployments")["items"][0]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{IMAGE}:{RELEASE}"
    pods = Lab(cluster, NAMESPACE).items("/api/v1", "pods", OURS)
    (pod,) = (each for each in pods if "deletionTimestamp" not in each["metadata"])
    metrics = scrape(f"{pod['status']['podIP']}:8080", cluster.plane.token)[1]
    assert re.search(rf'^paddlejob_build_info{{.*version="{RELEASE}"}} 1', metrics, re.MULTILINE)
    complete(Lab(cluster, "default"), "by-helm")
