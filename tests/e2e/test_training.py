"""PaddlePaddle trains on a real node: every mode and every way in which pods find each other."""

from pathlib import Path

import pytest

from tests.e2e.images import EXAMPLES, EXAMPLES_3, Image
from tests.e2e.jobs import example
from tests.live.lab import Lab, Raw

pytestmark = [pytest.mark.training]

ELASTIC = {"SAMPLES": "1536", "EPOCHS": "2", "CHECKPOINT_EVERY": "4"}


def train(lab: Lab, job: Raw) -> Raw:
    lab.submit(job)
    return lab.wait_completed(job["metadata"]["name"])


@pytest.mark.parametrize("intranet", ["PodIP", "Service", "Host"])
def test_parameter_servers(lab: Lab, intranet: str) -> None:
    job = example("wide_and_deep.yaml")
    job["spec"]["intranet"] = intranet
    status = train(lab, job)
    assert status["worker"]["succeeded"] == 2
    endpoints = lab.log("wide-ande-deep-worker-0")
    assert endpoints, "the worker has told what it did"


VERSIONS = [pytest.param(EXAMPLES, id="2.6.2"), pytest.param(EXAMPLES_3, id="3.3.1")]
"""Of PaddlePaddle. Wheels of version 3 have no core of parameter servers."""


@pytest.mark.parametrize("image", VERSIONS)
def test_collective(lab: Lab, image: Image) -> None:
    assert train(lab, example("resnet.yaml", image))["worker"]["succeeded"] == 2


def test_heter(lab: Lab) -> None:
    assert train(lab, example("heter.yaml"))["phase"] == "Completed"


@pytest.mark.parametrize("image", VERSIONS)
def test_elastic(lab: Lab, tmp_path: Path, image: Image) -> None:
    """Their etcd comes from the manifests, in an image built like the others."""
    lab.start_etcd()
    job = example("resnet_elastic.yaml", image, **ELASTIC)
    volume = {"name": "volume", "hostPath": {"path": str(tmp_path)}}
    job["spec"]["worker"]["template"]["spec"]["volumes"][0] = volume
    train(lab, job)
    assert (tmp_path / "resnet-elastic" / "model").is_dir()
