"""Image tables: what they may hold, and what is said of what they do not."""

from pathlib import Path

import pytest

from localcluster.commands import ownimages
from localcluster.machine.errors import LocalClusterError
from localcluster.provision.images import ImageTable, images_of

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
