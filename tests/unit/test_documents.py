"""What the documents name exists, and the two languages of the guide show the same things."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"```\w+\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")
FILE = re.compile(r"-f ([\w./-]+)")
SAVED = re.compile(r"^apiVersion: .*\nkind: PaddleJob\nmetadata:\n  name: ([\w-]+)$", re.MULTILINE)
"""A YAML that a reader saves under the job's name."""


def ids(path: Path) -> str:
    """The document's name."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text())
    assert not [t for t in targets if not (document.parent / t).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_files_of_commands_exist(document: Path) -> None:
    blocks = "\n".join(BLOCK.findall(document.read_text()))
    saved = {f"{name}.yaml" for name in SAVED.findall(blocks)}
    assert not [
        name for name in FILE.findall(blocks) if not (ROOT / name).exists() and name not in saved
    ]


def test_both_languages_show_the_same() -> None:
    english = BLOCK.findall((ROOT / "docs" / "guide.md").read_text())
    chinese = BLOCK.findall((ROOT / "docs" / "guide.zh.md").read_text())
    assert english == chinese


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_make_targets_exist(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"`?make ([a-z-]+)", "\n".join(BLOCK.findall(document.read_text())))
    assert not [t for t in targets if f"\n{t}:" not in makefile]


def test_every_variable_of_the_plain_job_has_its_line() -> None:
    sharded = ROOT / "examples" / "sharded"
    variables = re.findall(r"- name: ([A-Z_]+)", (sharded / "job.yaml").read_text())
    readme = (sharded / "README.md").read_text()
    rows = "\n".join(line.partition(" | ")[0] for line in readme.splitlines() if line[:1] == "|")
    assert [name for name in variables if f"`{name}`" not in rows] == []
    assert len(variables) == 9
