"""Logs: constant events with keys and values, on standard error.

JSON in a cluster, columns in a terminal. The logger is built here and passed on. Only one thing is
global: warnings that libraries send to the standard logging module are forwarded to it.

Values are cut to a maximum size, because an API server's message can repeat a whole object. A
warning that repeats within a minute is only counted.
"""

import json
import logging
import os
import sys
import threading
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, TextIO

import structlog
from cachetools import LRUCache

from kube.clock import Clock

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "json", "text")

MAX_VALUE_BYTES = 1000
MAX_TRACEBACK_BYTES = 2000
REPEAT_SECONDS = 60.0
MAX_WARNINGS = 1000
"""How many warnings are remembered."""
VARYING = {"pass_id", "retry_after_seconds"}
"""The keys that are ignored when two warnings are compared."""
_MOST_BYTES_PER_CHARACTER = 12
"""The most bytes of one character in ASCII JSON: two escaped surrogates."""

Log = structlog.typing.FilteringBoundLogger


def build_log(
    format_: str, level: str, stream: TextIO = sys.stderr, clock: Clock | None = None
) -> Log:
    """A logger that writes to the stream. `auto` means JSON in a pod, else text."""
    is_json = format_ == "json" or (format_ == "auto" and "KUBERNETES_SERVICE_HOST" in os.environ)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if is_json
        else structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    log: Log = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[
            _Repeats(clock or Clock()).count,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            _bound_values,
            *(() if is_json else (_escape_controls,)),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
    )
    return log


class _Repeats:
    """Drops repeated warnings for a minute; the next one says how many were dropped."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._seen: LRUCache[int, tuple[float, int]] = LRUCache(MAX_WARNINGS)
        """By a warning's hash: when it was last written, and how often it was dropped since."""

    def count(self, _log: Any, method: str, event: structlog.typing.EventDict) -> Any:
        if method != "warning":
            return event
        warning = hash(frozenset((k, str(v)) for k, v in event.items() if k not in VARYING))
        now = self._clock.monotonic()
        with self._lock:
            written_at, dropped = self._seen.get(warning, (-REPEAT_SECONDS, 0))
            is_due = now - written_at >= REPEAT_SECONDS
            self._seen[warning] = (now, 0) if is_due else (written_at, dropped + 1)
        if not is_due:
            raise structlog.DropEvent
        return {**event, "repeated": dropped} if dropped else event


def _bound_values(_log: Any, _method: str, event: structlog.typing.EventDict) -> Any:
    for key, value in event.items():
        text = str(value)
        bound = cut(text, MAX_TRACEBACK_BYTES if key == "exception" else MAX_VALUE_BYTES)
        if bound != text:
            event[key] = bound
    return event


def _escape_controls(_log: Any, _method: str, event: structlog.typing.EventDict) -> Any:
    """Escape control characters in text: a tenant's could control the terminal. JSON has none."""
    return {
        key: "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in str(value))
        for key, value in event.items()
    }


def cut(text: str, max_bytes: int) -> str:
    """The text; if it is too long as JSON, only its beginning and its end."""
    if len(text) * _MOST_BYTES_PER_CHARACTER <= max_bytes or _size(text) <= max_bytes:
        return text
    mark = f" [{len(text)} characters] "
    room = (max_bytes - len(mark)) // 2
    head = text[: _count_fitting(text[:room], room)]
    tail = text[len(text) - _count_fitting(text[: -room - 1 : -1], room) :]
    return head + mark + tail


def _count_fitting(characters: Iterable[str], max_bytes: int) -> int:
    """How many of the first characters fit."""
    return bisect_right(list(accumulate(map(_size, characters))), max_bytes)


def _size(text: str) -> int:
    """The text's bytes in JSON, without the quotes."""
    return len(json.dumps(text)) - 2


def forward_library_warnings(log: Log) -> None:
    """Send warnings that libraries log with the standard module to this logger."""
    logging.basicConfig(level=logging.WARNING, handlers=[_Forwarder(log)], force=True)


class _Forwarder(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.warning("library", logger=record.name, message=record.getMessage())
