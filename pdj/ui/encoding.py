"""Encodes values as JSON, without characters that would change how other text is displayed."""

import json
from typing import Any

from kube import errors
from pdj.errors import Problem
from pdj.text.terminal import plain_values


def encode(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(plain_values(value), ensure_ascii=False).encode() + b"\n"


def describe_problem(error: Exception) -> dict[str, str]:
    """The page's message about a failure: the kind of failure, and the original error text."""
    shown = error.for_shell if isinstance(error, Problem) else str(error)
    text = error.message if isinstance(error, errors.ApiError) else shown
    return {"type": "problem", "kind": _kind(error), "text": text}


def _kind(error: Exception) -> str:
    if isinstance(error, errors.Unauthorized):
        return "login"
    if isinstance(error, errors.Forbidden):
        return "forbidden"
    if isinstance(error, errors.Transient | errors.Throttled):
        return "unreachable"
    if isinstance(error, errors.Conflict | errors.NotFound):
        return "changed"
    return "other" if isinstance(error, Problem | errors.ApiError) else "defect"
