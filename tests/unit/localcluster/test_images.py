"""Image tables: what they may hold, and what is said of what they do not."""

from pathlib import Path

import pytest

from examples.quickstart.__main__ import check_images
from localcluster.build.images import ImageTable, images_of
from localcluster.commands import ownimages
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.statefolder import folder_of

MINE = "images: {mine: {folders: {/workspace: program}, environment: examples}}"


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "images.yaml"
    path.write_text(text)
    return path


def test_an_image_is_found_with_any_tag_and_its_folder_lies_beside_the_table(
    tmp_path: Path,
) -> None:
    image = ImageTable([write(tmp_path, MINE)]).find("mine:2")
    assert image is not None
    assert image.folders == {"/workspace": tmp_path / "program"}


def test_the_first_table_counts(tmp_path: Path) -> None:
    second = write(tmp_path / "b", MINE.replace("program", "other"))
    table = ImageTable([write(tmp_path / "a", MINE), second])
    image = table.find("mine")
    assert image is not None
    assert image.folders["/workspace"].name == "program"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("images: {mine: {folder: x}}", "unknown field folder", id="field"),
        pytest.param("images: {mine: {environment: x}}", "unknown environment x", id="environment"),
        pytest.param("images: {mine: {requirements: x}}", "requirements need", id="packages"),
        pytest.param("images: {mine: program}", "image mine: not made of fields", id="a string"),
        pytest.param("images: {mine: {folders: program}}", "not made of fields", id="folders"),
        pytest.param("images: [mine]", "images.yaml", id="a list"),
        pytest.param("images: {", "images.yaml", id="no YAML"),
        pytest.param("mine", "images.yaml", id="text"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_file(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(LocalClusterError) as caught:
        ImageTable([write(tmp_path, text)])
    assert words in str(caught.value)
    assert "images.yaml" in str(caught.value)


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalClusterError, match=r"image table: .*no\.yaml"):
        ImageTable([tmp_path / "no.yaml"])


def test_a_missing_image_is_told_with_the_table_to_add_it_to(tmp_path: Path) -> None:
    table = ImageTable([write(tmp_path, MINE)])
    assert table.missing("m:1") == f'"m:1" is not in the image table {tmp_path}/images.yaml: ' + (
        "add it there"
    )
    assert "--images FILE" in ImageTable([]).missing("m:1")


@pytest.mark.parametrize(
    ("cluster", "named"), [("default", ""), ("other", " --name other")], ids=["default", "named"]
)
def test_a_missing_image_is_told_with_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, named: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    table = ImageTable([write(folder_of(cluster), "")])
    command = f"python -m localcluster images add{named} m:1=FOLDER"
    assert table.missing("m:1").endswith(f"{folder_of(cluster)}/images.yaml: {command}")


def test_every_container_of_a_manifest_has_its_image_looked_up() -> None:
    pod = {"spec": {"initContainers": [{"image": "a"}], "containers": [{"image": "b"}, {}, "x"]}}
    job = {
        "spec": {"worker": {"template": pod}, "ps": {"template": {"spec": {"containers": None}}}}
    }
    assert sorted(images_of(job)) == ["a", "b"]


def test_a_job_with_an_unknown_image_is_refused_before_anything_starts(tmp_path: Path) -> None:
    job = {"spec": {"worker": {"template": {"spec": {"containers": [{"image": "their:1"}]}}}}}
    with pytest.raises(LocalClusterError, match='image "their:1" is not in the image table'):
        check_images(job, ImageTable([write(tmp_path, MINE)]))


@pytest.mark.parametrize("text", ["mine", "=folder", "mine="])
def test_what_is_no_pair_of_name_and_folder_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not NAME=FOLDER"):
        ownimages.parse_pair(text)
