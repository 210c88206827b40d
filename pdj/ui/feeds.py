"""The feeds of the page: the jobs, one job, its log. One thread reads a feed; `close` ends it.

`take` waits a moment for messages; it can return none. It raises ApiError and Problem.
"""

import threading
from dataclasses import replace
from typing import Any, Protocol

from api.objects import Raw, uid_of
from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError
from pdj.errors import Problem
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture, has_ended
from pdj.gather.facts import gather
from pdj.gather.joblog import JobLog, choose
from pdj.gather.jobs import Handle
from pdj.gather.live import LiveJob
from pdj.gather.logs import Wish
from pdj.gather.merge import LogLine
from pdj.gather.paths import jobs_path
from pdj.gather.progress import TrainingReader
from pdj.gather.watch import Keeper
from pdj.text.rows import row_of
from pdj.text.terminal import log_line
from pdj.ui.detail import describe_job
from pdj.ui.encoding import describe_problem

Message = dict[str, Any]
TICK_SECONDS = 1.0
MIN_SECONDS = 0.2
"""Changes that come closer together than this are sent as one."""
REST = 4.0
"""After reading a job, the pause is this many times as long as reading it took."""
EVENT_SECONDS = 5.0
"""No watch reports Events: they are read this often."""
TAKE_SECONDS = 0.25
TAIL_LINES = 2000
MAX_LOGS = 64
MAX_CHARACTERS = 8192
"""The most characters of a log line that the page gets."""


class Feed(Protocol):
    """A source of messages for the page."""

    def take(self) -> list[Message]:
        """The new messages; empty if there are none after a moment."""

    def close(self) -> None:
        """End the feed."""


class _Trouble:
    """Reports an outage when it begins and when it ends."""

    def __init__(self) -> None:
        self._told = False

    def news(self, error: ApiError | None) -> list[Message]:
        """The message to send now, if any."""
        if (error is not None) == self._told:
            return []
        self._told = error is not None
        return [describe_problem(error) if error else {"type": "fine"}]


class JobsFeed:
    """First the rows of all jobs, then each row that changes."""

    def __init__(self, client: Client, namespace: str, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Event()
        self._pause = threading.Event()
        self._keeper = Keeper(client, jobs_path(namespace), {}, self._changed, clock)
        self._trouble = _Trouble()
        self._shown: dict[str, str] | None = None
        """The version of each job that was sent to the page; None before the first list."""
        self._keeper.__enter__()

    def take(self) -> list[Message]:
        """Rows that are new or changed, and the UIDs of those that are gone."""
        if self._shown is not None:
            self._clock.wait(self._pause, MIN_SECONDS)
        self._clock.wait(self._changed, TICK_SECONDS)
        self._changed.clear()
        jobs = self._keeper.objects()
        news = self._trouble.news(self._keeper.trouble)
        return news if jobs is None else [*news, *self._differences(jobs)]

    def close(self) -> None:
        """End the watch."""
        self._keeper.__exit__()

    def _differences(self, jobs: list[Raw]) -> list[Message]:
        before = self._shown or {}
        now = {uid_of(job): str(job["metadata"].get("resourceVersion")) for job in jobs}
        rows = [row_of(job) for job in jobs if before.get(uid_of(job)) != now[uid_of(job)]]
        gone = [uid for uid in before if uid not in now]
        is_first = self._shown is None
        self._shown = now
        if not (rows or gone or is_first):
            return []
        return [{"type": "jobs", "rows": rows, "gone": gone, "first": is_first}]


class JobFeed:
    """One job with its explanation, sent again whenever it changes."""

    def __init__(self, handle: Handle, language: str) -> None:
        self._client = handle.client
        self._language = language
        self._clock = handle.clock
        self._live = LiveJob(handle)
        self._read = TrainingReader(handle.client, handle.clock).read
        self._trouble = _Trouble()
        self._facts: Facts | None = None
        """What is shown."""
        self._is_missing = False
        self._looked_at = 0.0
        self._may_look_at = 0.0
        self._live.__enter__()

    def take(self) -> list[Message]:
        """The job, if there is news of it."""
        self._clock.wait(self._live.changed, TICK_SECONDS)
        self._live.changed.clear()
        picture = self._live.picture()
        news = self._trouble.news(self._live.trouble)
        if picture is None:
            return [*news, *self._missing()] if self._live.is_known else news
        now = self._clock.monotonic()
        is_due = not self._shows(picture) or now >= self._looked_at + EVENT_SECONDS
        if now < self._may_look_at:
            self._live.changed.wait(min(TICK_SECONDS, self._may_look_at - now))
            self._live.changed.set()
            return news
        return [*news, *self._look(picture)] if is_due and not self._live.trouble else news

    def close(self) -> None:
        """End the watches."""
        self._live.__exit__()

    def _missing(self) -> list[Message]:
        told, self._is_missing, self._facts = self._is_missing, True, None
        return [] if told else [{"type": "missing"}]

    def _look(self, picture: JobPicture) -> list[Message]:
        began = self._clock.monotonic()
        known = self._facts.settled if self._facts and self._shows(picture) else {}
        facts = gather(self._client, picture, self._read, known=known)
        message = describe_job(facts, self._language)
        self._looked_at = self._clock.monotonic()
        self._may_look_at = self._looked_at + max(MIN_SECONDS, REST * (self._looked_at - began))
        self._facts, self._is_missing = facts, False
        return [message]

    def _shows(self, picture: JobPicture) -> bool:
        return self._facts is not None and self._facts.picture == picture


class LogFeed:
    """The log lines of all pods of a job in order of time, beginning with the last ones."""

    def __init__(self, handle: Handle, wish: Wish) -> None:
        self._wish = replace(wish, follow=True, tail=TAIL_LINES)
        self._live = LiveJob(handle)
        self._log = JobLog(handle, self._wish)
        self._shown: JobPicture | None = None
        self._is_ended = False
        self._live.__enter__()

    def take(self) -> list[Message]:
        """The next lines; after the last one, a message that the log has ended."""
        picture = self._live.picture()
        if picture is not None and picture != self._shown:
            self._follow(picture)
        lines = self._log.take(TAKE_SECONDS)
        if lines:
            return [{"type": "lines", "lines": [_line(line) for line in lines]}]
        ended = picture is not None and has_ended(picture.raw) and self._log.is_done
        if ended == self._is_ended:
            return []
        self._is_ended = ended
        return [{"type": "end" if ended else "more", "empty": self._log.is_empty}]

    def _follow(self, picture: JobPicture) -> None:
        self._shown = picture
        count = sum(1 for _ in choose(picture.pods, self._wish))
        if count > MAX_LOGS:
            raise Problem(f"{count} logs are too many at once: choose one pod")
        self._log.follow(picture)

    def close(self) -> None:
        """End every reader."""
        self._log.__exit__()
        self._live.__exit__()


def _line(line: LogLine) -> list[Any]:
    text = log_line(line.text.decode(errors="replace"))
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]} … ({len(line.text):,} bytes)"
    return [line.source.pod, line.source.attempt, line.time, text, line.is_fold]
