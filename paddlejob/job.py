"""A job in a cluster: its state, the reasons for it, and the actions on it."""

import math
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from html import escape
from typing import Any

from api.catalogue.meaning import LANGUAGES
from api.constants import Phase, Reason
from api.objects import Raw, format_micro_time, name_of, namespace_of, uid_of
from api.status import JobStatus
from kube.clock import Clock
from kube.errors import NotFound
from paddlejob.advice import in_python
from paddlejob.build import check
from paddlejob.connection import Connection
from paddlejob.errors import ImageFailed, JobFailed, NotInTime, PaddleJobError, translating
from paddlejob.picture import History, draw, headline
from pdj.act import change
from pdj.act.follow import read_log
from pdj.act.submit import replace_job
from pdj.act.wait import wait_for, wait_until_gone
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture, has_ended, headline_of, phase_of
from pdj.gather.facts import gather
from pdj.gather.jobs import Handle, look
from pdj.gather.live import pictures
from pdj.gather.logs import Wish
from pdj.gather.progress import TrainingReader, read_training, with_training
from pdj.judge.judge import judge
from pdj.text.explain import draw_story
from pdj.text.logs import LogPrinter
from pdj.text.status import describe_failure, draw_job
from pdj.text.terminal import is_obeyed, paint, plain, unpainted
from reconcile.words.progress import Progress

SAYS_WHY_SECONDS = 15.0
"""`wait` says why the job waits once it has waited this long for the same."""


class Job:
    """One job. Each call reads it from the cluster, and fails if a later job has its name."""

    def __init__(self, client: Connection, raw: Raw) -> None:
        self._client = client
        self._clock = Clock()
        self.name = name_of(raw)
        self.namespace = namespace_of(raw)
        self._uid = uid_of(raw)

    def __repr__(self) -> str:
        return f"<Job {self.namespace}/{self.name}>"

    def _repr_html_(self) -> str:
        """The job at this moment, for a notebook; if it cannot be read, the reason."""
        try:
            with translating():
                picture = self._look()
                training = read_training(self._client.api, picture.job, self._clock)
                return draw(picture, training)
        except PaddleJobError as error:
            return f"<div>{escape(f'{self!r}: {error}')}</div>"

    @property
    def raw(self) -> dict[str, Any]:
        """The PaddleJob as the cluster has it now. Raises PaddleJobError if it is gone."""
        with translating():
            return self._look().raw

    @property
    def phase(self) -> str:
        """The job's phase, such as Pending, Running or Failed; empty until the operator sets it."""
        return phase_of(self.raw)

    @property
    def reason(self) -> str:
        """Why the job is in its phase: one word and a sentence; empty if there is no reason."""
        return headline(self.raw)

    @property
    def progress(self) -> Progress | None:
        """The progress of the training, from the first worker's log, or from the status if the job
        has ended or the user cannot read logs; None if it is unknown.
        """
        with translating():
            training = read_training(self._client.api, self._look().job, self._clock)
        progress = training.progress if training and not training.problem else None
        return progress if progress and progress.last_output_time else None

    @property
    def history(self) -> History:
        """The curve of the loss in the latest attempt, as the status has it: at most 60 points with
        step, time and loss. A notebook shows it as a picture.
        """
        with translating():
            status = self._look().job.status
        return History(status.progress.curve_of(status.attempt))

    def explain(self, lang: str = "en") -> str:
        """Why the job is in its state and who has to act, in English ("en") or Chinese ("zh").

        What to do is written as a call of a Job, where it has a method for that.
        """
        if lang not in LANGUAGES:
            raise PaddleJobError(f"explain: lang is {' or '.join(LANGUAGES)}, not {lang!r}")
        with translating():
            reader = TrainingReader(self._client.api, self._clock)
            story = judge(gather(self._client.api, self._look(), reader.read))
            told = in_python(story, Job)
            return "\n".join(draw_story(told, lang, unpainted, self._clock.now()))

    def logs(
        self,
        follow: bool = False,
        *,
        timeout: float | None = None,
        role: str = "",
        index: int | None = None,
        attempt: int | None = None,
        container: str = "",
        all_containers: bool = False,
        tail: int | None = None,
        since: int | None = None,
        timestamps: bool = False,
        no_prefix: bool = False,
        launcher_settings: bool = False,
    ) -> Iterator[str]:
        """The lines of all pods in order of time, each with its pod's name before it.

        With `follow`, waits for the pods and yields each line once, across restarts, until the job
        has ended; raises NotInTime after `timeout` seconds. The other arguments are the options of
        `kubectl pdj logs`: `tail` is the number of lines of each run of a
        container, `since` is in seconds.
        """
        check(Job.logs, locals())
        printer = LogPrinter(self.name, False, timestamps, no_prefix, all_containers)
        with translating():
            self._look()
            chosen = role, index, attempt, container, all_containers, launcher_settings
            wish = Wish(follow, tail, since, *chosen)
            with closing(read_log(self._handle(timeout), wish)) as turns:
                for picture, _, lines in turns:
                    self._refuse_other(picture.raw if picture else None)
                    yield from printer.format(picture, lines)

    def wait(self, timeout: float | None = None) -> "Job":
        """Wait until the job has completed; returns it. `timeout` is in seconds.

        A line on stderr says why the job waits, once it has waited for that for a while. Raises
        JobFailed with the first failure record, or NotInTime with the reason why the job waits.
        """
        check(Job.wait, locals())
        cause, since = "", 0.0

        def note(raw: Raw) -> None:
            nonlocal cause, since
            self._refuse_other(raw)
            now, before = self._clock.monotonic(), cause
            cause = str(((raw.get("status") or {}).get("waiting") or {}).get("cause") or "")
            if cause != before:
                since = now
            elif cause and now - since >= SAYS_WHY_SECONDS:
                sys.stderr.write(f"{plain(f'{self.name} waits: {headline(raw)}')}\n")
                since = math.inf

        try:
            with translating():
                self._look()
                raw = wait_for(self._handle(timeout), has_ended, note)
        except NotInTime as error:
            raise NotInTime(f"{error} ({headline(self.raw) or self.phase or 'New'})") from None
        if raw["status"]["phase"] == Phase.FAILED:
            raise _failure(raw)
        return self

    def watch(self, timeout: float | None = None) -> None:
        """Show the job with its pods until it has ended; a terminal or a notebook shows only the
        latest state.
        """
        check(Job.watch, locals())
        drawn = 0
        with translating():
            self._look()
            handle = self._handle(timeout)
            with closing(pictures(handle, at_each_tick=_is_terminal())) as found:
                for facts in with_training(handle, found):
                    self._refuse_other(facts.picture.raw)
                    drawn = _show(facts, self._clock.now(), drawn)

    def suspend(self) -> None:
        """Suspend the job: its pods are deleted, the job stays."""
        with translating():
            change.suspend(self._client.api, self._look().raw)

    def resume(self) -> None:
        """Continue after `suspend`."""
        with translating():
            change.resume(self._client.api, self._look().raw)

    def scale(self, workers: int) -> None:
        """Change how many workers an elastic or suspended job has."""
        with translating():
            change.scale(self._client.api, self._look().raw, workers)

    def restart(self) -> None:
        """Begin a new attempt, which does not count against backoffLimit. A job that has ended is
        instead deleted and created again. If the creation fails, the error names a file with the
        job, for `client.submit`.
        """
        with translating():
            raw = self._look().raw
            if not has_ended(raw):
                change.restart(self._client.api, raw, format_micro_time(self._clock.now()))
            else:
                self._uid = uid_of(replace_job(self._handle(), raw))

    def delete(self, wait: bool = True, timeout: float | None = None) -> None:
        """Delete the job and everything that it owns; with `wait`, return only when it is gone."""
        check(Job.delete, locals())
        with translating():
            with suppress(NotFound):
                change.delete(self._client.api, self._look().raw)
            if wait:
                wait_until_gone(self._handle(timeout), self._uid)

    def _handle(self, timeout: float | None = None) -> Handle:
        return Handle(self._client.api, self.namespace, self.name, self._clock, timeout)

    def _look(self) -> JobPicture:
        picture = look(self._client.api, self.namespace, self.name)
        self._refuse_other(picture.raw)
        return picture

    def _refuse_other(self, raw: Raw | None) -> None:
        if raw is not None and uid_of(raw) != self._uid:
            raise PaddleJobError(
                f"the job {self.name} has been deleted; client.job finds the new one of that name"
            )


def _is_terminal() -> bool:
    """Whether lines can be drawn over: a notebook cannot, whatever its output says of itself."""
    return is_obeyed(sys.stdout) and "ipykernel" not in sys.modules


def _show(facts: Facts, now: datetime, drawn: int) -> int:
    """Draw the job in place of what a notebook's cell shows, or of the `drawn` lines before on a
    terminal; returns the number of lines.
    """
    if _is_terminal():
        size = shutil.get_terminal_size()
        painter = unpainted if os.environ.get("NO_COLOR") else paint
        lines = draw_job(facts, painter, now, size.columns)[: max(1, size.lines - 1)]
        sys.stdout.write(f"\033[{drawn}F\033[J" if drawn else "")
    else:
        lines = draw_job(facts, unpainted, now, 1 << 20)
        if "ipykernel" in sys.modules:
            from IPython.display import clear_output

            clear_output(wait=True)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
    return len(lines)


def _failure(raw: Raw) -> JobFailed:
    """The first failure record as an exception; without one, the job's reason and message."""
    reason, _ = headline_of(raw["status"])
    found: JobStatus = JobPicture(raw).job.status
    text = describe_failure(found.failures[0]) if found.failures else headline(raw)
    kind = ImageFailed if reason == Reason.IMAGE_ERROR else JobFailed
    return kind(f"the job {name_of(raw)} has failed: {text}", reason)
