"""Which of Debian's packages a test asks for, and where they are looked for."""

import os
import re
from pathlib import Path

import pytest

from tests.live import debian

TESTS = Path(__file__).parents[1]
ASKED = re.compile(r'\bmissing\("([^"]+)"\)')


def test_each_program_that_a_test_asks_for_is_of_a_package():
    files = (
        path.read_text() for path in TESTS.rglob("*.py") if "tests.live.debian" in path.read_text()
    )
    asked = {name for text in files for name in ASKED.findall(text)}
    assert asked
    assert asked <= {*debian.PACKAGES}


@pytest.mark.parametrize("file", ["sbin/iptables", "share/font.otf"])
def test_what_lies_where_it_should_is_not_missing(tmp_path, monkeypatch, file):
    path = tmp_path / file
    path.parent.mkdir()
    name = path.name if file.startswith("sbin") else str(path)
    monkeypatch.setattr(debian, "PACKAGES", {name: "it"})
    monkeypatch.setattr(debian, "WHERE", os.pathsep.join(["/nowhere", str(path.parent)]))
    assert debian.missing(name) == ["it"]
    path.touch(0o755 if file.startswith("sbin") else 0o644)
    assert debian.missing(name) == []


def test_the_folders_of_roots_programs_are_looked_in_too():
    assert "/usr/sbin" in debian.WHERE.split(os.pathsep)
