"""Runs `kubectl pdj` as a user does: as a process, with a kubeconfig."""

import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from api.catalogue.kueue import KUEUE
from api.catalogue.meaning import LANGUAGES, Meaning, say
from api.catalogue.reasons import REASONS
from api.constants import LABEL_CODE_OF, Reason
from api.objects import Raw
from kube.client import Client
from pdj.access.connection import open_client
from pdj.access.kubeconfig import load_target
from pdj.facts.picture import JobPicture
from pdj.gather.facts import gather
from pdj.gather.jobs import look
from pdj.judge.judge import judge
from pdj.main import BUG
from pdj.text.explain import draw_story
from tests.live import patience
from tests.live.lab import CORE, Lab

CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Done:
    """How a command has ended."""

    code: int
    out: str
    notes: str


def environment(kubeconfig: str = "", **more: str) -> dict[str, str]:
    """A user's environment, in which only this kubeconfig is found."""
    kept = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "LANG", "LC_ALL")}
    return {**kept, "KUBECONFIG": kubeconfig, "PYTHONPATH": str(CHECKOUT), **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pdj", *arguments]


def run_pdj(*arguments: str, kubeconfig: str = "", stdin: bytes | None = None, **more: str) -> Done:
    done = subprocess.run(
        command(*arguments),
        env=environment(kubeconfig, **more),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=patience.SECONDS,
        check=False,
    )
    out, notes = done.stdout.decode(), done.stderr.decode()
    assert not any(each in out + notes for each in ("Traceback", BUG)), out + notes
    return Done(done.returncode, out, notes)


@functools.cache
def _forks() -> "subprocess.Popen[str]":
    """A process that runs commands without an interpreter for each; it ends with this one."""
    pipe = subprocess.PIPE
    program = [sys.executable, "-m", "tests.live.forks"]
    started = subprocess.Popen(program, cwd=CHECKOUT, stdin=pipe, stdout=pipe, text=True)
    atexit.register(started.communicate)
    return started


def run_forked(
    *arguments: str, kubeconfig: str = "", stdin: bytes | None = None, **more: str
) -> Done:
    """The same in a fork of a process that has imported all: see `tests.live.forks`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
        for name, path in paths.items():
            path.write_bytes(stdin or b"" if name == "stdin" else b"")
        order: Raw = {name: str(path) for name, path in paths.items()}
        order |= {"arguments": arguments, "environment": environment(kubeconfig, **more)}
        order["folder"] = str(Path.cwd())
        forks = _forks()
        assert forks.stdin and forks.stdout
        print(json.dumps(order), file=forks.stdin, flush=True)
        deadline = threading.Timer(patience.SECONDS, forks.kill)
        deadline.start()
        try:
            code = json.loads(forks.stdout.readline())
        except BaseException:  # the answer of this command must not be the next one's
            forks.kill()
            _forks.cache_clear()
            raise
        finally:
            deadline.cancel()
        out, notes = (paths[name].read_text() for name in ("stdout", "stderr"))
    assert not any(each in out + notes for each in ("Traceback", BUG)), out + notes
    return Done(code, out, notes)


class Tool:
    """The tool in a lab's namespace."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.kubeconfig = lab.cluster.kubectl_environment()["KUBECONFIG"]

    def run(self, *arguments: str, stdin: bytes | None = None, **more: str) -> Done:
        words = ("-n", self._lab.namespace, *arguments)
        return run_forked(*words, kubeconfig=self.kubeconfig, stdin=stdin, **more)

    def ok(self, *arguments: str, stdin: bytes | None = None) -> str:
        """What it prints; fails where it does."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, done
        return done.out

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start it; the caller waits for its end."""
        return subprocess.Popen(
            command("-n", self._lab.namespace, *arguments),
            env=environment(self.kubeconfig),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def code_maps(lab: Lab, job: str = "") -> list[Raw]:
    """The ConfigMaps that hold the code of one job, or of all."""
    return lab.items(CORE, "configmaps", f"{LABEL_CODE_OF}={job}" if job else LABEL_CODE_OF)


def opened(lab: Lab) -> contextlib.closing[Client]:
    """A client as the tool has it."""
    kubeconfig = lab.cluster.kubectl_environment()["KUBECONFIG"]
    return contextlib.closing(open_client(load_target(kubeconfig, None)))


def explain(lab: Lab, name: str, language: str) -> str:
    """What `explain` prints, in this process: an interpreter takes longer than the command."""
    with opened(lab) as client:
        return explained(client, look(client, lab.namespace, name), language)


def explained(client: Client, seen: JobPicture, language: str) -> str:
    """The same of what has been read."""
    story = judge(gather(client, seen))
    lines = draw_story(story, language, lambda text, *_: text, datetime.now(UTC))
    return "\n".join(lines)


def assert_explained(lab: Lab, name: str, *reasons: Reason, kueues: str = "") -> None:
    """Wait until the job says each reason: `explain` then names cause and next step, twice.

    They are those of Kueue's own reason, if one is given.
    """
    for reason in reasons:
        meaning = KUEUE[kueues] if kueues else REASONS[reason]

        def are_told(reason: Reason = reason, meaning: Meaning = meaning) -> bool:
            with opened(lab) as client:
                seen = look(client, lab.namespace, name)
                return all(
                    say(each, language) in told
                    for language in LANGUAGES
                    for told in [explained(client, seen, language)]
                    for each in (reason, meaning.cause, meaning.next_step)
                )

        try:
            lab.wait(are_told, f"{name}: {reason}")
        except AssertionError as error:
            error.add_note(explain(lab, name, "en"))
            raise
