"""Recorded sequences of faults come to the end that they came to before."""

import json
from pathlib import Path

import pytest

from tests.faults.record import COUNT, FOLDER, play
from tests.faults.scenario import Scenario

FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sequence_comes_to_its_end(path: Path) -> None:
    recorded = json.loads(path.read_text())
    assert play(recorded, Scenario()) == recorded["end"]


def test_there_are_as_many_as_were_drawn() -> None:
    assert len(FILES) == COUNT
