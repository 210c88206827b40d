"""Logs: constant events with keys and values, on standard error.

JSON in a cluster, columns in a terminal. The logger is built here and passed on. Only one thing is
global: warnings that libraries send to the standard logging module are forwarded to it.
"""

import logging
import os
import sys
from typing import TextIO

import structlog

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "json", "text")

Log = structlog.typing.FilteringBoundLogger


def build_log(format_: str, level: str, stream: TextIO = sys.stderr) -> Log:
    """A logger that writes to the stream. `auto` is JSON inside a cluster, else text."""
    is_json = format_ == "json" or (format_ == "auto" and "KUBERNETES_SERVICE_HOST" in os.environ)
    renderers: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if is_json
        else [structlog.dev.ConsoleRenderer(colors=stream.isatty())]
    )
    log: Log = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
    )
    return log


def forward_library_warnings(log: Log) -> None:
    """Send what libraries warn of by the standard logging module to this logger."""
    logging.basicConfig(level=logging.WARNING, handlers=[_Forwarder(log)], force=True)


class _Forwarder(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.warning("library", logger=record.name, message=record.getMessage())
