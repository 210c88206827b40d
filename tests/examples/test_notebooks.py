"""Every cell of the notebook runs, in order, and two workers train a function together."""

import json
import linecache
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.training, pytest.mark.timeout(600)]

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


def run_cells(notebook: Path, names: dict[str, Any]) -> None:
    """Run the cells as a kernel does: each has a file of its own, which inspect finds."""
    cells = json.loads(notebook.read_text())["cells"]
    sources = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    assert len(sources) > 3
    for number, source in enumerate(sources, 1):
        file = f"<cell {number}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), names)


def test_the_notebook_trains_breaks_and_mends(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        run_cells(NOTEBOOKS / "train.ipynb", names)
    finally:
        if "client" in names:
            names["client"].close()
    out = capsys.readouterr().out
    trained = re.findall(r"(worker-\d) \| rank (\d) of 2 weights \[1, 2, 3\]", out)
    assert sorted(trained) == [("worker-0", "0"), ("worker-1", "1")], out
    assert "fit: args do not fit: missing a required argument: 'lr'" in out
    assert re.search(r"the job fit has failed: PodFailed, fit-worker-\d", out), out
    assert sorted(re.findall(r"rank (\d) of 3 weights \[1, 2, 3\]", out)) == ["0", "1", "2"], out
    assert "<Job" not in out
