"""Encodes values as JSON, without characters that would change how other text is displayed."""

import json
from typing import Any

from kube import errors
from pdj.errors import Problem
from pdj.text.terminal import plain


def encode(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(_clean(value), ensure_ascii=False).encode() + b"\n"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value


def clean_text(text: str) -> str:
    """The text with its line breaks, and with every harmful character escaped."""
    return "\n".join(map(plain, text.split("\n"))) if "\n" in text else plain(text)


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
