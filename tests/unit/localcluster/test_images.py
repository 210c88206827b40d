"""Image tables: what they may hold, and what is said of what they do not."""

import re
from pathlib import Path

import pytest

from localcluster.commands import ownimages
from localcluster.machine.errors import LocalClusterError
from localcluster.provision.images import Image, ImageTable, images_of, stand_in

MINE = "images: {mine: {folders: {/workspace: program}, environment: examples}}"


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "images.yaml"
    path.write_text(text)
    return path


def test_an_image_is_found_with_any_tag_and_its_folder_lies_beside_the_table(tmp_path):
    image = ImageTable([write(tmp_path, MINE)]).find("mine:2")
    assert image is not None
    assert image.folders == {"/workspace": tmp_path / "program"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("images: {mine: {folder: x}}", "unknown field folder", id="field"),
        pytest.param("images: {mine: {environment: x}}", "unknown environment x", id="environment"),
        pytest.param("images: {mine: {requirements: x}}", "requirements need", id="packages"),
        pytest.param("images: {mine: program}", "image mine: must be a mapping", id="a string"),
        pytest.param("images: {mine: {folders: program}}", "must be a mapping", id="folders"),
        pytest.param("images: [mine]", "images.yaml", id="a list"),
        pytest.param("images: {", "images.yaml", id="no YAML"),
        pytest.param("mine", "images.yaml", id="text"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_file(tmp_path, text, words):
    with pytest.raises(LocalClusterError) as caught:
        ImageTable([write(tmp_path, text)])
    assert words in str(caught.value)
    assert "images.yaml" in str(caught.value)


def test_a_missing_image_is_told_with_the_table_to_add_it_to(tmp_path):
    table = ImageTable([write(tmp_path, MINE)])
    assert table.missing("m:1") == f'"m:1" is not in the image table {tmp_path}/images.yaml: ' + (
        "add it there"
    )
    assert "--images FILE" in ImageTable([]).missing("m:1")


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("paddlepaddle/paddle:3.3.1", "examples-3"),
        ("paddlepaddle/paddle:3.0.0b2", "examples-3"),
        ("paddlepaddle/paddle:3.3.1-gpu-cuda12.6-cudnn9.5", "examples-3"),
        (f"paddlepaddle/paddle:3.3.1@sha256:{'0' * 64}", "examples-3"),
        ("paddlepaddle/paddle:2.4.2-gpu-cuda11.7-cudnn8.4-trt8.4", "examples-2"),
        ("paddlepaddle/paddle:1.8.5", "examples"),
        ("paddlepaddle/paddle:latest-gpu-cuda12.6", "examples"),
        ("paddlepaddle/paddle:33.1", "examples"),
        ("paddlepaddle/paddle", "examples"),
        ("r.example.com:5000/team/paddle:3.1.0", "examples-3"),
        ("r.example.com:5000/team/fixed:3.1.0", "examples-2"),
        ("team/paddlenlp:3.0.0", "examples"),
        ("team/paddle-fixed/paddle:3.1.0", "examples-2"),
        ("team/small/paddle:3.1.0", "system"),
    ],
)
def test_an_image_of_paddlepaddle_has_the_version_of_its_tag(tmp_path, name, environment):
    own = """images:
      r.example.com:5000/team/paddle:3.1.0: {environment: examples}
      r.example.com:5000/team/fixed: {environment: examples-2}
      team/paddle-fixed/paddle: {environment: examples-2}
      team/paddlenlp: {environment: examples}
      team/small/paddle: {}
    """
    image = ImageTable([write(tmp_path, own)]).find(name)
    assert image is not None
    assert image.environment == environment


def test_it_is_said_what_stands_for_an_image_with_paddlepaddle():
    name = "paddlepaddle/paddle:3.0.0"
    said = stand_in(name, Image(name, environment="examples-3"))
    assert re.search(rf"PaddlePaddle 3\.3\.1 with Python 3\.\d+ .* {name}", said)
    assert stand_in("busybox:1", Image("busybox:1")) == ""


@pytest.mark.parametrize("version", ["3.3.1", "3", "2.6.2", ""])
def test_an_image_of_ones_own_has_the_version_that_is_asked_for(tmp_path, monkeypatch, version):
    made = write(tmp_path, "")
    monkeypatch.setattr(ownimages, "kubeconfig_of", lambda _: None)
    monkeypatch.setattr(ownimages, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(Image, "prepare", lambda *_: [])
    told: list[str] = []
    ownimages.add("c", "mine:1", tmp_path, None, told.append, version)
    image = ImageTable([made]).find("mine:1")
    assert image is not None
    expected = {"3": "3.3.1", "2": "2.6.2"}.get(version[:1])
    assert expected is None or image.training.paddle.version == expected
    assert image.training.paddle.version in told[0]
    with pytest.raises(LocalClusterError, match="no PaddlePaddle 1"):
        ownimages.add("c", "old:1", tmp_path, None, told.append, "1.8.5")
    assert ImageTable([made]).find("old:1") is None


def test_every_container_of_a_manifest_has_its_image_looked_up():
    pod = {"spec": {"initContainers": [{"image": "a"}], "containers": [{"image": "b"}, {}, "x"]}}
    job = {
        "spec": {"worker": {"template": pod}, "ps": {"template": {"spec": {"containers": None}}}}
    }
    assert sorted(images_of(job)) == ["a", "b"]


@pytest.mark.parametrize("text", ["mine", "=folder", "mine="])
def test_what_is_no_pair_of_name_and_folder_is_refused(text):
    with pytest.raises(ValueError, match="not NAME=FOLDER"):
        ownimages.parse_pair(text)
