"""Ways in which the operator could be wrong, each a small change of its source.

`python -m tests.faults.mutants [NAME…]` makes each change in a copy of the project and runs there
the test file that has to kill it: one of its tests must fail. The model of the cluster may be as
naive as the code; these show that it is not naive in the same way.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "api",
    "controller",
    "localcluster",
    "metrics",
    "reconcile",
    "tests",
    "setup.cfg",
    "pyproject.toml",
)
UNIT_TESTS = "tests/unit"
LIMIT_SECONDS = 300
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong idea: in `path`, `right` becomes `wrong`; `killer` are the unit tests that see it."""

    name: str
    path: str
    right: str
    wrong: str
    killer: str


MUTANTS = (
    Mutant(
        "ignore the UID: children of a former job of the same name count",
        "api/objects.py",
        'owner.get("kind") == kind and owner.get("uid") == uid',
        'owner.get("kind") == kind',
        "reconcile/test_reconcile.py",
    ),
    Mutant(
        "drop expectations: a pass may run before the store shows the last one's writes",
        "controller/expectations.py",
        "            if not self._has_arrived(notes):\n                return False\n",
        "",
        "controller/test_applier.py",
    ),
    Mutant(
        "trust the cache: a pod that it does not show is gone",
        "controller/applier.py",
        "        for name in self.plan.verify_gone:",
        "        for name in ():",
        "controller/test_applier.py",
    ),
    Mutant(
        "write status over whatever came between",
        "controller/applier.py",
        '{**self.plan.status, "metadata": version}',
        "self.plan.status",
        "controller/test_applier.py",
    ),
    Mutant(
        "charge per pod",
        "reconcile/restart.py",
        "failure_count=recorded.failure_count + 1",
        "failure_count=recorded.failure_count"
        " + sum(pod.state == 'failed' for pod in view.pods.values())",
        "reconcile/test_restart.py",
    ),
    Mutant(
        "one restart too many",
        "reconcile/restart.py",
        "if recorded.failure_count >= limit:",
        "if recorded.failure_count > limit:",
        "reconcile/test_cleanup.py",
    ),
    Mutant(
        "no back-off between attempts",
        "reconcile/restart.py",
        "    return max(0.0, delay - (view.now - since).total_seconds())\n\n\ndef restart_delay",
        "    return 0.0\n\n\ndef restart_delay",
        "reconcile/test_restart.py",
    ),
    Mutant(
        "reuse the old ConfigMap",
        "api/job.py",
        'return job_name if attempt <= 1 else f"{job_name}-attempt-{attempt}"',
        "return job_name",
        "reconcile/test_deadlines.py",
    ),
    Mutant(
        "take any ConfigMap of that name",
        "reconcile/environment.py",
        "        _rendezvous(view),\n",
        "",
        "reconcile/test_environment.py",
    ),
    Mutant(
        "tell addresses before all are known",
        "reconcile/rendezvous.py",
        "return len(view.pods) == len(view.wanted) and all(",
        "return len(view.pods) > 0 and all(",
        "reconcile/test_rendezvous.py",
    ),
    Mutant(
        "never mind a changed address",
        "reconcile/rendezvous.py",
        "if pod.is_live and pod.address and not _is_told(view, told, pod)",
        "if False",
        "reconcile/test_failure.py",
    ),
    Mutant(
        "count deleted pods as failures",
        "reconcile/failure.py",
        "if p.state is PodState.FAILED and not p.is_deleting]",
        "if p.state is PodState.FAILED]",
        "reconcile/test_elastic.py",
    ),
    Mutant(
        "charge what the launcher asks for",
        "reconcile/failure.py",
        "Incident(Reason.TRAINER_ASKED_RESTART, message, False, pod=pod)",
        "Incident(Reason.TRAINER_ASKED_RESTART, message, True, pod=pod)",
        "reconcile/test_failure.py",
    ),
    Mutant(
        "charge evictions",
        "reconcile/failure.py",
        "Incident(_disruption(pod), message, False, pod=pod)",
        "Incident(_disruption(pod), message, True, pod=pod)",
        "reconcile/test_failure.py",
    ),
    Mutant(
        "a vanished pod is made again, whatever its peers were told",
        "reconcile/failure.py",
        "return _find_loss(view) if view.has_started else None",
        "return None",
        "reconcile/test_failure.py",
    ),
    Mutant(
        "forget who has ended well",
        "reconcile/view.py",
        "done[role] = parse_indexes(remembered) | {",
        "done[role] = frozenset() | {",
        "reconcile/test_completion.py",
    ),
    Mutant(
        "begin the next attempt beside the last one's pods",
        "reconcile/children.py",
        "    if view.remains:\n        return Changes(deletes)\n",
        "",
        "reconcile/test_deadlines.py",
    ),
    Mutant(
        "go on after the end",
        "reconcile/reconcile.py",
        "    if view.job.status.is_terminal:\n        return _tend_ended(view)\n",
        "",
        "reconcile/test_cleanup.py",
    ),
    Mutant(
        "sleep through deadlines and back-offs",
        "reconcile/reconcile.py",
        "requeue_after=_earliest(changes.requeue_after, wait or None, *_timers(view)),",
        "requeue_after=wait or None,",
        "reconcile/test_deadlines.py",
    ),
    Mutant(
        "resume with the attempt of before",
        "reconcile/suspend.py",
        "attempt=view.attempt + has_begun",
        "attempt=view.attempt",
        "reconcile/test_deadlines.py",
    ),
    Mutant(
        "keep pods that are not wanted any more",
        "reconcile/children.py",
        "else view.obsolete\n",
        "else view.remains\n",
        "reconcile/test_elastic.py",
    ),
    Mutant(
        "an elastic launcher that exits 0 has trained",
        "reconcile/elastic.py",
        "    if untrained is not None:\n",
        "    if False:\n",
        "reconcile/test_elastic.py",
    ),
    Mutant(
        "an elastic worker that outlasts its peers was left alone",
        "reconcile/completion.py",
        "    return first - pod.started_at < max(timeout, timedelta(seconds=JOIN_SECONDS))",
        "    return True",
        "reconcile/test_elastic.py",
    ),
    Mutant(
        "make an elastic worker anew once one has ended well",
        "reconcile/children.py",
        "    if view.job.spec.is_elastic and view.completed[Role.WORKER]:",
        "    if False:",
        "reconcile/test_elastic.py",
    ),
    Mutant(
        "replace an elastic worker before its failure is recorded",
        "reconcile/children.py",
        "not pod.is_deleting and is_recorded(view, pod)",
        "not pod.is_deleting",
        "reconcile/test_elastic.py",
    ),
    Mutant(
        "judge how a pod ends that was told to",
        "reconcile/failure_policy.py",
        "if requirement is None or is_deleting(pod):",
        "if requirement is None:",
        "reconcile/test_failure_policy.py",
    ),
    Mutant(
        "tell of the pod that had news last",
        "reconcile/view.py",
        "in sorted(self.observed.pods, key=name_of))",
        "in self.observed.pods)",
        "reconcile/test_pending.py",
    ),
    Mutant(
        "clean up what the policy keeps",
        "reconcile/cleanup.py",
        "return [pod for pod in view.all_pods if not _has_ended(pod)]",
        "return list(view.all_pods)",
        "reconcile/test_cleanup.py",
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: the test that killed it, or that nothing did."""

    mutant: Mutant
    killer: str
    seconds: float


def judge(mutant: Mutant) -> Verdict:
    """Run the suite against one mutant."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            copy_one = shutil.copytree if source.is_dir() else shutil.copy
            copy_one(source, copy / name)
        apply(mutant, copy)
        killer = run_tests(copy, f"{UNIT_TESTS}/{mutant.killer}")
    return Verdict(mutant, killer, time.monotonic() - began)


def apply(mutant: Mutant, root: Path) -> None:
    """Make the change. Raises ValueError where its place is not found exactly once."""
    path = root / mutant.path
    source = path.read_text()
    if source.count(mutant.right) != 1:
        raise ValueError(f"{mutant.name}: {source.count(mutant.right)} places in {mutant.path}")
    path.write_text(source.replace(mutant.right, mutant.wrong))


def run_tests(root: Path, path: str) -> str:
    """The first test of a file that fails, empty where none does.

    Raises RuntimeError where the tests could not run: that kills no mutant.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, path],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("FAILED "):
            return line.removeprefix("FAILED ").split(" - ")[0]
    if done.returncode != 0:
        raise RuntimeError(f"the tests did not run: {(done.stdout + done.stderr)[-500:]}")
    return ""


def judge_all(mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """Judge mutants in their order, two at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(judge, mutants)


def main(names: list[str]) -> int:
    """Judge the mutants whose names hold one of the words; 1 where one lives."""
    chosen = [m for m in MUTANTS if not names or any(name in m.name for name in names)]
    survivors = 0
    for verdict in judge_all(chosen):
        survivors += not verdict.killer
        end = f"killed by {verdict.killer}" if verdict.killer else "LIVES"
        sys.stdout.write(f"{verdict.seconds:5.0f} s  {verdict.mutant.name}\n         {end}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - survivors} of {len(chosen)} mutants killed\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
