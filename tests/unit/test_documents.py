"""What the documents name exists, and both languages of a page show the same things."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"```\w+\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
ANCHORED = re.compile(r"\]\(([^)#:\s]*\.md|)#([^)\s]+)\)")
"""The page and the anchor of a link to a heading."""
FILE = re.compile(r"-f (?!https:)([\w./-]+)")
SPAN = re.compile(r"`([\w.-]+/[\w./-]*)`")
"""A code span that looks like a path."""
MADE = {"build"}
"""Folders that commands write: what documents name there need not be made yet."""
SAVED = re.compile(r"^apiVersion: .*\nkind: PaddleJob\nmetadata:\n  name: ([\w-]+)$", re.MULTILINE)
"""A YAML that a reader saves under the job's name."""
WRITTEN = re.compile(r" > ([\w.-]+)$", re.MULTILINE)
"""What a command writes."""


def ids(path: Path) -> str:
    """The document's name."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_links_lead_somewhere(document):
    targets = LINK.findall(document.read_text())
    assert not [t for t in targets if not (document.parent / t).exists()]


def anchors_of(path: Path) -> set[str]:
    """The anchors of a page's headings."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_anchors_lead_to_headings(document):
    links = ANCHORED.findall(document.read_text())
    pages = [(document.parent / name if name else document, anchor) for name, anchor in links]
    assert not [(str(page), anchor) for page, anchor in pages if anchor not in anchors_of(page)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_files_of_commands_exist(document):
    blocks = "\n".join(BLOCK.findall(document.read_text()))
    saved = {f"{name}.yaml" for name in SAVED.findall(blocks)} | {*WRITTEN.findall(blocks)}
    assert not [
        name for name in FILE.findall(blocks) if not (ROOT / name).exists() and name not in saved
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_paths_in_prose_exist(document):
    folders = {path.name for path in ROOT.glob("[!.]*") if path.is_dir()} - MADE
    paths = [p for p in SPAN.findall(document.read_text()) if p.partition("/")[0] in folders]
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_architecture_says_where_things_are():
    document = (ROOT / "ARCHITECTURE.md").read_text()
    table = document.partition("| where … |")[2].partition("\n\n")[0]
    missing = []
    for row in table.splitlines():
        spans = re.findall(r"`([\w./]+)`", row)
        sources = "".join((ROOT / s).read_text() for s in spans if s.endswith(".py"))
        names = [span.rpartition(".")[2] for span in spans if "/" not in span]
        missing += [n for n in names if not re.search(rf"\b(def|class) {n}\b", sources)]
    assert missing == []
    assert len(table.splitlines()) > 5


def test_a_page_can_be_read_at_one_sitting():
    """The reference is looked up, not read; the first page is what a stranger reads first."""
    length = {path.name: len(path.read_text().splitlines()) for path in ROOT.glob("docs/*.md")}
    assert {name for name, lines in length.items() if lines > MAX_LINES} <= {*REFERENCE}
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


REFERENCE = ("reference.md", "reference.zh.md")
MAX_LINES = 300
"""A page should have 300; a little more is no reason to stop a change."""
PAGES = sorted(path.name.removesuffix(".zh.md") for path in (ROOT / "docs").glob("*.zh.md"))


def outline(text: str) -> list[str]:
    """The level of each heading and the columns of each table's row, in their order."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    marks = re.findall(r"^(#+) |^(\|.*)$", prose, re.MULTILINE)
    return [level or "|" * row.replace(r"\|", "").count("|") for level, row in marks]


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_show_the_same(page):
    english = (ROOT / "docs" / f"{page}.md").read_text()
    chinese = (ROOT / "docs" / f"{page}.zh.md").read_text()
    assert BLOCK.findall(english) == BLOCK.findall(chinese) != []
    assert outline(english) == outline(chinese)


OTHER_WORDS = ("任务", "消息", "飞桨", "你")
"""What the Chinese pages and texts call 作业, 信息, PaddlePaddle and 您; a launcher is a 启动器."""


@pytest.mark.parametrize("page", PAGES)
def test_chinese_pages_have_one_word_for_a_thing(page):
    text = (ROOT / "docs" / f"{page}.zh.md").read_text()
    assert [word for word in OTHER_WORDS if word in text] == []
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r".*[一-龥，。；：、] ?launcher.*|.*launcher ?[一-龥].*", prose) == []


@pytest.mark.parametrize("page", PAGES)
def test_chinese_pages_say_which_links_lead_to_english(page):
    """The link to a page's own twin, at its top, needs no word."""
    text = (ROOT / "docs" / f"{page}.zh.md").read_text().replace(f"[English]({page}.md)", "")
    linked = re.findall(r"\]\((\w[\w-]*)\.md(?:#[^)]*)?\)(（英文）)?", text)
    assert [name for name, word in linked if name in PAGES or not word] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_make_targets_exist(document):
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"`?make ([a-z0-9-]+)", "\n".join(BLOCK.findall(document.read_text())))
    assert not [t for t in targets if f"\n{t}:" not in makefile]


def test_every_variable_of_the_plain_job_has_its_line():
    sharded = ROOT / "examples" / "sharded"
    variables = re.findall(r"- name: ([A-Z_]+)", (sharded / "job.yaml").read_text())
    readme = (sharded / "README.md").read_text()
    rows = "\n".join(line.partition(" | ")[0] for line in readme.splitlines() if line[:1] == "|")
    assert [name for name in variables if f"`{name}`" not in rows] == []
    assert len(variables) == 9
