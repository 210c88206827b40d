"""The reader finds every object that the manuals print, and mends no more than it must."""

from pathlib import Path

import pytest
import yaml

from tests.manuals import grammar
from tests.manuals.reader import ABSENT, CHECKOUT, MANUALS, Printed, printed

EXAMPLES = CHECKOUT / "examples"
PRINTED = printed()
MENDED = {"000": {"indentation", "quotes, and the value between them"}}
MENDED |= {"001": {"tabs"}, "002": set(), "003": set(), "004": {"indentation"}}
needs_manuals = pytest.mark.skipif(not MANUALS.is_dir(), reason=ABSENT)

TABBED = """\
.. code-block:: yaml

\tapiVersion: v1
\tkind: Thing
\tmetadata:
\t  name: tabbed
\tspec:
\t  a:
\t    b:
\t      c:
\t\td: 1

The end: of it.
"""
BARE = """\
说明:
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
name: bare
spec:
worker:
replicas: 2
template:
spec:
containers:
- name: paddle
image: busybox
cleanPodPolicy: Never
注意:
"""


def read(folder: Path, text: str) -> Printed:
    """The one object of a manual with this text."""
    (folder / "009_made-up.txt").write_text(text)
    (found,) = printed(folder)
    return found


def test_tabs_are_eight_columns(tmp_path: Path) -> None:
    found = read(tmp_path, TABBED)
    assert found.thing["spec"] == {"a": {"b": {"c": {"d": 1}}}}
    assert found.mended() == ["009, line 11: tabs"]


def test_lost_indentation_is_found_again(tmp_path: Path) -> None:
    found = read(tmp_path, BARE)
    assert found.thing["spec"] == {
        "worker": {
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "paddle", "image": "busybox"}]}},
        },
        "cleanPodPolicy": "Never",
    }
    assert found.mended() == ["009, line 5: indentation", "009, line 7-14: indentation"]


def test_what_is_whole_is_not_touched(tmp_path: Path) -> None:
    text = (EXAMPLES / "wide_and_deep.yaml").read_text()
    found = read(tmp_path, f"```yaml\n{text[text.index('apiVersion') :]}```\n")
    assert found.thing == yaml.safe_load(text)
    assert not found.mends


@pytest.mark.parametrize("file", ["wide_and_deep.yaml", "wide_and_deep_podip.yaml", "resnet.yaml"])
def test_grammar_gives_a_flattened_file_back(file: str) -> None:
    text = (EXAMPLES / file).read_text()
    flat = [line.strip() for line in text.splitlines() if not line.startswith("#")]
    assert yaml.safe_load("\n".join(grammar.indented(flat))) == yaml.safe_load(text)


def test_grammar_refuses_what_it_does_not_know() -> None:
    with pytest.raises(grammar.Misplaced):
        grammar.indented(["kind: PaddleJob", "unheard-of: 1"])


@needs_manuals
@pytest.mark.parametrize("each", PRINTED, ids=str)
def test_is_mended_in_the_ways_of_its_manual(each: Printed) -> None:
    assert {mend.what for mend in each.mends} == MENDED[each.manual]


@needs_manuals
@pytest.mark.parametrize("each", PRINTED, ids=str)
def test_line_is_where_the_manual_has_it(each: Printed) -> None:
    (file,) = MANUALS.glob(f"{each.manual}_*.txt")
    lines = file.read_text().splitlines()
    assert lines[each.line - 1].strip() == f"apiVersion: {each.thing['apiVersion']}"


@needs_manuals
def test_nothing_that_is_printed_is_overlooked() -> None:
    text = [line for file in MANUALS.glob("*.txt") for line in file.read_text().splitlines()]
    kinds = [line for line in text if line.strip().startswith("kind: ")]
    assert len(PRINTED) == len(kinds)


@needs_manuals
def test_both_prints_of_the_same_job_are_mended_into_the_same() -> None:
    first, second = (each.thing for each in PRINTED if each.manual in ("000", "001"))
    assert first == second
