"""The manuals' YAML is that of the files that tests/examples and the guide train.

Of the other files in examples/, wide_and_deep_volcano.yaml, wide_and_deep_gpu.yaml and
wide_and_deep_podip.yaml are as printed but for a job's name or the order of fields.
"""

import re
from pathlib import Path

import pytest

from tests.examples.files import EXAMPLES
from tests.manuals.source import needs_manuals, text_of

PRINTED = Path(__file__).parent / "printed"
STORAGE = PRINTED / "storage.yaml"
FILES = [
    (EXAMPLES / "wide_and_deep.yaml", "002"),
    (EXAMPLES / "resnet.yaml", "002"),
    (EXAMPLES / "resnet.yaml", "004"),
    (EXAMPLES / "sharded" / "job.yaml", "003"),
    (PRINTED / "ctr.yaml", "001"),
    (STORAGE, "002"),
]


def words_of(text: str) -> str:
    """Without comments and spaces: printing has changed or lost some of these."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return "".join("".join(lines).split())


@needs_manuals
@pytest.mark.parametrize(("file", "manual"), FILES, ids=[f"{n}-{f.stem}" for f, n in FILES])
def test_file_is_what_the_manual_prints(file: Path, manual: str) -> None:
    printed = words_of(text_of(manual))
    for document in re.split(r"^---$", file.read_text(), flags=re.MULTILINE):
        assert words_of(document) in printed
