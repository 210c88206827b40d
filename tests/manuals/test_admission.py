"""What the manuals print is admitted as printed, where they lie beside the checkout."""

import re
from pathlib import Path

import pytest
import yaml

from tests.lab import Lab

MANUALS = Path(__file__).parents[3] / "shared" / "manuals"
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
KINDS = ("PaddleJob", "PodGroup", "PersistentVolume", "PersistentVolumeClaim", "Job")
READ = ("002_", "003_")
"""Manuals whose YAML has kept its indentation. A line that shows a command is no YAML."""


def printed() -> list[dict]:
    """Every object in a fenced block, in the manuals' order."""
    objects = []
    for file in sorted(MANUALS.glob("*.txt")):
        for block in FENCED.findall(file.read_text()) if file.name.startswith(READ) else ():
            if "apiVersion:" in block:
                text = re.sub(r"^\$.*\n", "", block, flags=re.MULTILINE)
                objects += [each for each in yaml.safe_load_all(text) if each]
    return [each for each in objects if each["kind"] in KINDS]


OBJECTS = printed()


@pytest.mark.skipif(not MANUALS.is_dir(), reason=f"no manuals in {MANUALS}")
def test_manuals_hold_what_is_expected() -> None:
    assert [each["kind"] for each in OBJECTS].count("PaddleJob") == 5


@pytest.mark.parametrize(
    "thing", OBJECTS, ids=[f"{each['kind']}-{n}" for n, each in enumerate(OBJECTS)]
)
def test_is_admitted_as_printed(lab: Lab, thing: dict) -> None:
    text = yaml.safe_dump(thing)
    told = lab.kubectl("create", "--dry-run=server", "-f", "-", stdin=text)
    assert "created (server dry run)" in told
