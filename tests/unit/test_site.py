"""The site has every page of docs/, and no link of them leads out of it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from release.site import CONFIG, LINK, write_sources

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://git.example.com/team/operator"


def pages_of(nav: Any) -> Iterator[str]:
    """The pages of a navigation, in their order."""
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(each)


def test_every_page_is_in_the_navigation_once():
    nav = tomllib.loads(CONFIG.read_text())["project"]["nav"]
    pages = ["index.md", *(path.name for path in (ROOT / "docs").glob("*.md"))]
    assert sorted(pages_of(nav)) == sorted(pages)


def test_languages_lead_to_their_guide():
    """Each page links to itself in the other language."""
    switch = tomllib.loads(CONFIG.read_text())["project"]["extra"]["alternate"]
    assert [each["lang"] for each in switch] == ["en", "zh"]
    assert all((ROOT / "docs" / f"{each['link'].rstrip('/')}.md").exists() for each in switch)
    for chinese in (ROOT / "docs").glob("*.zh.md"):
        english = chinese.with_name(f"{chinese.name.removesuffix('.zh.md')}.md")
        assert f"({english.name})" in chinese.read_text()[:200]
        assert f"({chinese.name})" in english.read_text()[:200]


def test_links_lead_to_pages_or_to_the_repository(tmp_path):
    write_sources(tmp_path, REPOSITORY)
    pages = {path.name: path.read_text() for path in (tmp_path / "docs").glob("*.md")}
    links = [link for page in pages.values() for link in LINK.findall(page)]
    assert links
    assert not [path for _, path, _ in links if not (tmp_path / "docs" / path).exists()]
    outside = re.findall(rf"\({REPOSITORY}/blob/main/([^)#]+)", "".join(pages.values()))
    assert outside
    assert not [path for path in outside if not (ROOT / path).exists()]


def test_without_a_repository_the_text_of_a_link_stays(tmp_path):
    write_sources(tmp_path, "")
    page = (tmp_path / "docs" / "alerts.md").read_text()
    assert "\nchart:\n" in page
