"""Which of several test processes gets which file of tests.

A file is run by one process. One process at a time trains while there is something else to do: a
training takes all cores that it gets, and most other files wait. The longest come first, and those
that use the same cluster go to the same process while others have something else to do: each
process has clusters of its own, and one costs ten seconds of CPU at its start, and a twentieth of
a core until the end.
"""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).parents[2]
LONGEST = (
    "tests/cluster/surroundings/test_process.py",
    "tests/manuals/test_guide.py",
    "tests/cluster/operator/test_stalled.py",
    "tests/faults/test_kill_after_each_write.py",
    "tests/production/test_monitoring.py",
    "tests/production/test_image.py",
)
FOLDERS = ("manuals", "examples", "cluster", "faults", "unit")
"""In order of how long a file of them takes, but for manuals, whose longest file is the first of
all: they have a cluster while they follow each other."""
TRAINING = {"examples", "manuals"}
SHARED = {
    "unattended": ("unattended",),
    "operated": ("operated", "lab", "module_lab", "site_lab"),
    "cluster": ("cluster", "namespace", "crd"),
}
"""Clusters that tests share, and the fixtures that lead to them."""


class Distribution(LoadFileScheduling):
    """Gives a process that runs out of work its next file."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        last = {each: next(reversed(files), "") for each, files in self.assigned_work.items()}
        mine = last.pop(node, "")
        others = {file for file in last.values() if file}
        self.workqueue.move_to_end(choose(self.workqueue, mine, others), False)
        super()._assign_work_unit(node)


def choose(waiting: Iterable[str], mine: str, others: Iterable[str]) -> str:
    """The next file for a process, of those that wait.

    It depends on the last file that it was given, and on those of the others. A process that
    trains keeps its cluster for trainings.
    """
    is_training = any(map(trains, others))
    has, others_have = _clusters(mine), _clusters(*(file for file in others if not trains(file)))

    def rank(file: str) -> tuple[bool, bool, int, int]:
        cluster = cluster_of(file)
        would_start = 2 if cluster in others_have else 1
        too_many = is_training and trains(file)
        return too_many, file not in LONGEST, _place(file), 0 if cluster in has else would_start

    return min(waiting, key=rank)


def trains(file: str) -> bool:
    """Whether the file is one of those of which most train."""
    return Path(file).parts[1] in TRAINING


def _clusters(*files: str) -> set[str]:
    return {cluster for file in files if file and (cluster := cluster_of(file))}


@cache
def cluster_of(file: str) -> str:
    """The shared cluster that a file's tests use, or nothing."""
    if Path(file).parent.name == "node":
        return "node"  # its conftest.py has one
    fixtures = _fixtures_of(file)
    return next((name for name, leading in SHARED.items() if fixtures & {*leading}), "")


def _fixtures_of(file: str) -> set[str]:
    """The fixtures of others that a file's tests and fixtures ask for."""
    body = ast.parse((ROOT / file).read_text()).body
    functions = [each for each in body if isinstance(each, ast.FunctionDef)]
    asking = [each for each in functions if each.name.startswith("test_") or each.decorator_list]
    asked = {argument.arg for each in asking for argument in each.args.args}
    return asked - {each.name for each in functions}


def _place(file: str) -> int:
    folder = Path(file).parts[1]
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)
