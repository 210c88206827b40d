"""Jobs of every mode get the children that they got before trainers had what Paddle's tools read.

`python -m tests.unit.reconcile.test_golden` prints them, a line a job; golden.json is its output
of that time. No job of the examples and the documents has changed its number of trainers.
"""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.objects import Raw
from pdj.documents.render import render
from reconcile.objects.launcher import count_processes

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CHECKOUT = Path(__file__).parents[3]
GOLDEN = Path(__file__).with_name("golden.json")
FENCED = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
NEW_IN_PODS = {"RANK", "PYTHONUNBUFFERED"}
NEW_LABEL = "velero.io/exclude-from-backup"
NEW_IN_CONFIG_MAPS = {"NNODES", "MASTER_ADDR", "MASTER_PORT"}
LAUNCH = ["python", "-m", "paddle.distributed.launch", "train.py"]


def a_job(roles: dict[str, int], *command: str, **spec: Any) -> Raw:
    """A job whose pods all run this."""
    container = {"name": "paddle", "image": "train:1", "command": list(command)}
    template = {"spec": {"containers": [container]}}
    each = {role: {"replicas": count, "template": template} for role, count in roles.items()}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "train"},
        "spec": {**each, **spec},
    }


JOBS = {
    "ps": a_job({"ps": 2, "worker": 2}, *LAUNCH),
    "ps by service": a_job({"ps": 1, "worker": 2}, "python", "train.py", intranet="Service"),
    "ps on hosts": a_job({"ps": 1, "worker": 2}, "python", "train.py", intranet="Host"),
    "heter": a_job({"ps": 1, "worker": 2, "heter": 2}, *LAUNCH),
    "elastic": a_job({"worker": 2}, *LAUNCH, elastic=1),
    "hosts": a_job({"worker": 2}, *LAUNCH, intranet="Host"),
    "plain": a_job({"worker": 2}, "python", "train.py"),
    "plain by service": a_job({"worker": 2}, "python", "train.py", intranet="Service"),
    "wrapper": a_job({"worker": 2}, "./run.sh"),
    "own arguments": a_job({"worker": 2}, *LAUNCH[:3], "--nnodes", "2", "train.py"),
    "alone": a_job({"worker": 1}, *LAUNCH),
}


def without_the_new(child: Raw) -> Raw:
    """The child as it was before, whatever else has changed."""
    assert child["metadata"]["labels"].pop(NEW_LABEL) == "true"
    if child["kind"] == "Service":
        assert child["spec"].pop("ipFamilyPolicy") == "PreferDualStack"
    if child["kind"] == "ConfigMap":
        kept = {name: v for name, v in child["data"].items() if name not in NEW_IN_CONFIG_MAPS}
        return {**child, "data": kept}
    for container in child.get("spec", {}).get("containers", ()):
        env = container.get("env", ())
        container["env"] = [each for each in env if each["name"] not in NEW_IN_PODS]
    return child


@pytest.mark.parametrize("name", JOBS)
def test_children_differ_by_nothing_but_the_new_variables(name):
    found = json.loads(json.dumps(render(JOBS[name], NOW)))
    expected = json.loads(GOLDEN.read_text())[name]
    assert [without_the_new(child) for child in found] == expected


@pytest.mark.parametrize("name", JOBS)
def test_a_first_attempt_does_not_show_that_it_may_resume(name):
    job = {**JOBS[name], "spec": {**JOBS[name]["spec"], "resume": "Paddle", "stallPolicy": {}}}
    assert render(job, NOW) == render(JOBS[name], NOW)


def documented() -> Iterator[Any]:
    """Every job of the examples and of the documents."""
    texts = {str(file): [file.read_text()] for file in (CHECKOUT / "examples").rglob("*.yaml")}
    texts |= {str(file): FENCED.findall(file.read_text()) for file in CHECKOUT.glob("docs/*.md")}
    for name, blocks in sorted(texts.items()):
        for at, block in enumerate(blocks):
            if re.search(r"^kind: PaddleJob$", block, re.MULTILINE):
                yield pytest.param(block, id=f"{Path(name).name}-{at}")


@pytest.mark.parametrize("text", list(documented()))
def test_no_documented_job_changes_its_number_of_trainers(text):
    for job in yaml.safe_load_all(text):
        if not job or job["kind"] != "PaddleJob" or "template" not in job["spec"]["worker"]:
            continue
        worker = job["spec"]["worker"]
        maps = [child for child in render(job, NOW) if child["kind"] == "ConfigMap"]
        assert bool(maps) == (not job["spec"].get("elastic"))
        for data in (each["data"] for each in maps):
            given = data.get("PADDLE_TRAINER_ENDPOINTS") or data["PADDLE_IPS"]
            count = worker.get("replicas", 1)
            assert (len(given.split(",")), data["PADDLE_TRAINERS_NUM"]) == (count, str(count))
            assert data.get("NNODES", str(count)) == data.get("PADDLE_NNODES", str(count))
            launches = count_processes(worker["template"]["spec"]["containers"][0]) is not None
            assert ("PADDLE_IPS" not in data) or launches, "a program without a launcher"


if __name__ == "__main__":
    lines = [
        f"{json.dumps(name)}: {json.dumps(render(job, NOW), sort_keys=True)}"
        for name, job in JOBS.items()
    ]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
