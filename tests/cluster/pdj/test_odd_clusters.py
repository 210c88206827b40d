"""Clusters without our CRD, with an older or a newer one, or with one of somebody else's."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.crd import build_crd
from localcluster import Cluster
from localcluster.commands.manifests import install
from localcluster.machine import clock
from tests.live import patience
from tests.live.lab import PADDLE_JOBS, SERVER, Raw, paddle_job
from tests.live.pdj import Done, run_forked

UNKNOWN = "this cluster does not know PaddleJobs"
JOB = paddle_job("one", {"worker": (1, SERVER)}, withGloo=1)
TEXT: Raw = {"type": "string"}


@pytest.fixture(scope="module")
def plane(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster without an operator: no job here runs."""
    yield cluster
    remove(cluster)


def ask(plane: Cluster, *arguments: str, stdin: bytes | None = None) -> Done:
    return run_forked(*arguments, kubeconfig=str(plane.kubeconfig), stdin=stdin)


def altered(change: Any) -> str:
    crd = copy.deepcopy(build_crd())
    (version,) = (each for each in crd["spec"]["versions"] if each["name"] == "v1")
    version["schema"]["openAPIV3Schema"] = change(version["schema"]["openAPIV3Schema"])
    return yaml.safe_dump(crd)


def older(schema: Raw) -> Raw:
    del schema["properties"]["spec"]["properties"]["ttlSecondsAfterFinished"]
    del schema["properties"]["status"]["properties"]["failures"]
    return schema


def newer(schema: Raw) -> Raw:
    schema["properties"]["spec"]["properties"]["warp"] = TEXT
    schema["properties"]["status"]["properties"]["phase"] = TEXT
    return schema


def strange(_schema: Raw) -> Raw:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def give(plane: Cluster, crd: str) -> None:
    remove(plane)
    install(plane, stdin=crd)
    assert clock.wait_until(lambda: plane.client.is_ok(PADDLE_JOBS), patience.SECONDS)


def remove(plane: Cluster) -> None:
    """The API server goes on with what it served for a moment, and would forget a new one then."""
    name = "paddlejobs.batch.paddlepaddle.org"
    plane.kubectl("delete", "crd", name, "--ignore-not-found", "--wait")
    assert clock.wait_until(lambda: not plane.client.is_ok(PADDLE_JOBS), patience.SECONDS)


def test_a_cluster_without_our_crd_is_one_line(plane: Cluster, tmp_path: Path) -> None:
    remove(plane)
    text = yaml.safe_dump(JOB).encode()
    for words in (["list"], ["list", "-A"], ["status", "x"], ["status", "x", "-w"], ["logs", "x"],
                  ["logs", "x", "-f"], ["explain", "x"], ["suspend", "x"], ["resume", "x"],
                  ["restart", "x"], ["delete", "x"], ["scale", "x", "--workers", "1"],
                  ["debug", "x", "-o", str(tmp_path / "x")], ["top", "x"], ["submit", "-"],
                  ["run", "busybox"]):  # fmt: skip
        done = ask(plane, *words, stdin=text)
        assert (done.code, done.out) == (1, ""), (words, done)
        assert UNKNOWN in done.notes, (words, done)
        assert len(done.notes.splitlines()) == 1, (words, done)
    version = ask(plane, "version")
    assert version.code == 1
    assert UNKNOWN in version.out


def test_an_older_crd_is_told_and_works_as_far_as_it_goes(plane: Cluster) -> None:
    give(plane, altered(older))
    told = ask(plane, "version")
    assert told.out.endswith(
        "the cluster's CRD is older: it lacks spec.ttlSecondsAfterFinished, status.failures\n"
    )
    two = paddle_job("two", {"worker": (1, SERVER)}, ttlSecondsAfterFinished=9)
    refused = ask(plane, "submit", "-", stdin=yaml.safe_dump(two).encode())
    assert refused.code == 1
    assert 'unknown field "spec.ttlSecondsAfterFinished"' in refused.notes
    assert_job_is_shown(plane)


def test_a_newer_crd_is_told_and_its_jobs_are_shown(plane: Cluster) -> None:
    give(plane, altered(newer))
    told = ask(plane, "version")
    assert told.out.endswith("the cluster's CRD is newer: this tool does not know spec.warp\n")
    assert_job_is_shown(plane)
    condition = {
        "type": "Pending",
        "status": "True",
        "reason": "WarpCoreCold",
        "message": "\x1b[2J",
    }
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    write_status(plane, {"phase": "Warping", "mode": "Warp", "conditions": [condition]})
    assert "Warping" in ask(plane, "list").out
    assert "Warping" in ask(plane, "status", "one").out
    explained = ask(plane, "explain", "one", "--lang", "en")
    assert "WarpCoreCold" in explained.out
    assert "the operator is newer" in explained.out
    assert "\x1b" not in explained.out


def test_a_crd_of_somebody_else_is_told(plane: Cluster) -> None:
    give(plane, altered(strange))
    told = ask(plane, "version")
    assert told.code == 1
    assert "is not of this project" in told.out
    job = {**JOB, "spec": {"worker": {"replicas": 1, "template": "none"}}}
    plane.kubectl("create", "-f", "-", stdin=json.dumps(job))
    assert ask(plane, "list").code == 0
    for words in (["status"], ["explain"], ["top"], ["restart"], ["suspend"], ["delete"]):
        done = ask(plane, *words, "one")  # as far as the fields are where they should be
        assert len(done.notes.splitlines()) == (done.code != 0), (words, done)


def assert_job_is_shown(plane: Cluster) -> None:
    """A job can be created and looked at; nobody runs it."""
    assert ask(plane, "submit", "-", stdin=yaml.safe_dump(JOB).encode()).code == 0
    assert "one" in ask(plane, "list").out
    assert "no operator has handled it yet" in ask(plane, "status", "one").out
    assert "No operator has handled the job yet." in ask(plane, "explain", "one").out


def write_status(plane: Cluster, status: Raw) -> None:
    patch = json.dumps({"status": status})
    plane.kubectl("patch", "pdj/one", "--subresource=status", "--type=merge", "-p", patch)
