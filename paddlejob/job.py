"""A job in a cluster: its state, the reasons for it, and the actions on it."""

from collections.abc import Iterator
from contextlib import closing, suppress
from html import escape
from typing import TYPE_CHECKING, Any

from api.catalogue.meaning import LANGUAGES
from api.constants import Phase, Reason
from api.objects import Raw, format_micro_time, name_of, namespace_of, uid_of
from api.status import JobStatus
from kube.errors import NotFound
from paddlejob.build import check
from paddlejob.errors import ImageFailed, JobFailed, NotInTime, PaddleJobError, translating
from paddlejob.picture import draw
from pdj import actions
from pdj.commands import logs, status
from pdj.commands.restart import submit_again
from pdj.commands.wait import wait_for, wait_until_gone
from pdj.facts.picture import JobPicture, headline_of
from pdj.gather.facts import gather
from pdj.gather.jobs import look
from pdj.gather.live import result_of
from pdj.gather.progress import TrainingReader, read_training
from pdj.judge.judge import judge
from pdj.session import Session
from pdj.text.explain import draw_story
from pdj.text.status import describe_failure
from reconcile.words.progress import Progress

if TYPE_CHECKING:
    from paddlejob.client import Client


class Job:
    """One job. Each call reads it from the cluster, and fails if a later job has its name."""

    def __init__(self, client: "Client", raw: Raw) -> None:
        self._client = client
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
                training = read_training(self._client.api, picture.job, self._session().clock)
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
        return str((self.raw.get("status") or {}).get("phase") or "")

    @property
    def reason(self) -> str:
        """Why the job is in its phase: one word and a sentence; empty if there is no reason."""
        return _headline(self.raw)

    @property
    def progress(self) -> Progress | None:
        """The progress of a running job's training, from the first worker's log, or from the status
        if the user cannot read logs; None if it is unknown.
        """
        with translating():
            training = read_training(self._client.api, self._look().job, self._session().clock)
        return training.progress if training and not training.problem else None

    def explain(self, lang: str = "en") -> str:
        """Why the job is in its state and who has to act, in English ("en") or Chinese ("zh")."""
        if lang not in LANGUAGES:
            raise PaddleJobError(f"explain: lang is {' or '.join(LANGUAGES)}, not {lang!r}")
        with translating():
            session, picture = self._session(), self._look()
            reader = TrainingReader(session.client, session.clock)
            story = judge(gather(session.client, picture, reader.read))
            return "\n".join(draw_story(story, lang, session.screen.paint, session.now))

    def logs(
        self, follow: bool = False, *, timeout: float | None = None, **choice: Any
    ) -> Iterator[str]:
        """The lines of all pods in order of time, each with its pod's name before it.

        With `follow`, waits for the pods and yields each line once, across restarts, until the job
        has ended; raises NotInTime after `timeout` seconds. `choice` is any of `role`, `index`,
        `attempt`, `container`, `tail` (lines of each pod), `since` (seconds), and the other options
        of `kubectl pdj logs`.
        """
        options = logs.options_of(self.name)
        if unknown := choice.keys() - options.keys():
            raise PaddleJobError(f"logs: there is no option {', '.join(sorted(unknown))}")
        session = self._session(**{**options, **choice, "follow": follow, "timeout": timeout})
        with translating():
            self._look()
            if not follow:
                for lines in logs.read_lines(session):
                    yield from lines
                return
            with closing(logs.follow_lines(session, self._refuse_other)) as turns:
                for lines, _ in turns:
                    yield from lines

    def wait(self, timeout: float | None = None) -> "Job":
        """Wait until the job has completed; returns it. `timeout` is in seconds.

        Raises JobFailed with the first failure record, or NotInTime with the reason why the job
        waits.
        """
        session = self._session(timeout=timeout)
        try:
            with translating():
                self._look()
                wait_for(session, self.name, self._has_ended, lambda _raw: None)
                raw = self._look().raw
        except NotInTime as error:
            raise NotInTime(f"{error} ({_headline(self.raw) or self.phase or 'New'})") from None
        if raw["status"]["phase"] == Phase.FAILED:
            raise _failure(raw)
        return self

    def watch(self, timeout: float | None = None) -> None:
        """Show the job with its pods until it has ended; a terminal or a notebook shows only the
        latest state.
        """
        from paddlejob.client import screen

        session = self._session(timeout=timeout, watch=True, output=None)
        session.screen = screen()
        with translating():
            self._look()
            status.run(session)

    def suspend(self) -> None:
        """Suspend the job: its pods are deleted, the job stays."""
        with translating():
            actions.suspend(self._client.api, self._look().raw)

    def resume(self) -> None:
        """Continue after `suspend`."""
        with translating():
            actions.suspend(self._client.api, self._look().raw, False)

    def scale(self, workers: int) -> None:
        """Change how many workers an elastic or suspended job has."""
        with translating():
            actions.scale(self._client.api, self._look().raw, workers)

    def restart(self) -> None:
        """Begin a new attempt, which does not count against backoffLimit. A job that has ended is
        instead deleted and created again. If the creation fails, the error names a file with the
        job, for `client.submit`.
        """
        with translating():
            raw, session = self._look().raw, self._session(wait=False)
            if result_of(raw) is None:
                actions.restart(session.client, raw, format_micro_time(session.now))
                return
            submit_again(session, raw)
            self._uid = uid_of(look(session.client, self.namespace, self.name).raw)

    def delete(self, wait: bool = True, timeout: float | None = None) -> None:
        """Delete the job and everything that it owns; with `wait`, return only when it is gone."""
        session = self._session(timeout=timeout)
        with translating():
            with suppress(NotFound):
                actions.delete(session.client, self._look().raw)
            if wait:
                wait_until_gone(session, self.name, self._uid)

    def _session(self, **options: Any) -> Session:
        check(Job.logs, options)
        return self._client.session(self.name, **{"namespace": self.namespace, **options})

    def _look(self) -> JobPicture:
        picture = look(self._client.api, self.namespace, self.name)
        self._refuse_other(picture)
        return picture

    def _refuse_other(self, picture: JobPicture | None) -> None:
        if picture is not None and uid_of(picture.raw) != self._uid:
            raise PaddleJobError(
                f"the job {self.name} has been deleted; client.job finds the new one of that name"
            )

    def _has_ended(self, raw: Raw) -> bool:
        self._refuse_other(JobPicture(raw))
        return result_of(raw) is not None


def _headline(raw: Raw) -> str:
    reason, message = headline_of(raw.get("status") or {})
    return f"{reason}: {message}" if message else reason


def _failure(raw: Raw) -> JobFailed:
    """The first failure record as an exception; without one, the job's reason and message."""
    reason, _ = headline_of(raw["status"])
    found: JobStatus = JobPicture(raw).job.status
    text = describe_failure(found.failures[0]) if found.failures else _headline(raw)
    kind = ImageFailed if reason == Reason.IMAGE_ERROR else JobFailed
    return kind(f"the job {name_of(raw)} has failed: {text}", reason)
