"""`make manual` runs what the operator's manual prints; here its first chapter.

The examples' files are trained by tests/examples/test_files.py and test_guide.py.
"""

import re
from pathlib import Path

import pytest

from tests.manuals.conftest import Desk
from tests.manuals.operator_manual import (
    EXAMPLE_SECTIONS,
    FILES,
    INSTALL,
    UNINSTALL,
    delete,
    prepare,
)
from tests.manuals.source import needs_manuals, text_of

ADDRESS = re.compile(r"https://\S+?/(?=deploy/)")
MANAGER = re.compile(r"paddle-controller-manager-\w+-\w+")
STEPS = [step.command for _, *steps in (*INSTALL, *EXAMPLE_SECTIONS) for step in steps]
LAST = UNINSTALL[0][1].command


def from_manual() -> list[str]:
    """The manual's commands with paths for addresses, in order, each run of the same one once."""
    found: list[str] = []
    for command in re.findall(r"^\$ (kubectl .+)$", text_of("002"), re.MULTILINE):
        named = MANAGER.sub("{manager}", ADDRESS.sub("", command))
        if named not in found:
            found.append(named)
    return found


@needs_manuals
def test_commands_are_those_that_the_manual_prints_in_its_order() -> None:
    wanted = [command for command in from_manual() if command != LAST]
    assert LAST in from_manual()
    assert [command for command in dict.fromkeys(STEPS) if command in wanted] == wanted


def test_every_file_of_a_command_is_there(tmp_path: Path) -> None:
    prepare(tmp_path)
    files = [name for command in STEPS for name in re.findall(r"-f (\S+)", command)]
    assert not [name for name in files if not (tmp_path / name).is_file()]
    assert set(FILES) <= set(files)


@pytest.mark.cluster
def test_from_install_to_uninstall(quick_desk: Desk) -> None:
    told: list[str] = []
    walk = quick_desk.reader(told.append)
    walk.take(INSTALL)
    walk.step(delete("wide-ande-deep"))
    walk.take(UNINSTALL)
    assert "$ kubectl get crd" in told
    asked = "kubectl -n paddle-system get pdj"
    shown = [said.splitlines()[1].split()[:5] for command, said in walk.said if command == asked]
    assert shown == [["wide-ande-deep", "Completed", "PS", "2/2", "0/2"]]
