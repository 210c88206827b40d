"""Finds out whether a child was invalid when we sent it, or was made invalid by admission.

The API server validates an object after admission has changed it. The invalid value can come from a
LimitRange or a mutating webhook, which somebody can fix. Waiting is useless only if we sent every
refused field, with the refused value if the answer shows it. A refusal by a policy or a webhook
never counts as invalid, because its message differs. Thread-safe.

The API server shows values as `field.Error.ErrorBody` of k8s.io/apimachinery does: texts and
numbers as JSON. A quantity can look different from how it was sent.
"""

import json
import re
from typing import Any

from api.objects import Raw
from kube.errors import Invalid

_REFUSED = re.compile(r'[\w.-]+ "[^"]*" is invalid: ')
_UNREADABLE = re.compile(r'[\w.-]+ in version "[^"]*" cannot be handled as a ')
_STEP = re.compile(r"\[(?P<key>[^\]]*)\]|(?P<name>[^.\[\]]+)")
_LIMIT = re.compile(r"equal to (\S+) limit")
"""The message if a resource request is above its limit; a LimitRange can have set the limit."""
_REQUIRED = "FieldValueRequired"
_SHOWN = re.compile(
    r'(?:(?:Invalid|Unsupported) value|Not found): ("(?:[^"\\]|\\.)*"|-?\d+)(?::|$)'
)
_NUMBER = re.compile(r"[+-]?\.?\d")


def is_malformed(error: Invalid, body: Raw) -> bool:
    """Whether the body is surely invalid as it was sent; False in doubt."""
    if error.code == 400 and _UNREADABLE.match(error.message):
        return True
    causes = error.details.get("causes") or ()
    is_ours = bool(causes) and all(_was_sent(cause, body) for cause in causes)
    return is_ours and _REFUSED.match(error.message) is not None


def _was_sent(cause: Raw, body: Raw) -> bool:
    """Whether we sent the value that makes one field wrong."""
    field, message = str(cause.get("field") or ""), str(cause.get("message") or "")
    above = _look_up(body, field.rpartition(".")[0])
    if limit := _LIMIT.search(message):
        return isinstance(above, dict) and limit[1] in (above.get("limits") or {})
    if cause.get("reason") == _REQUIRED:
        return above is not None
    found = _look_up(body, field)
    return found is not None and not _is_changed(found, message)


def _is_changed(sent: Any, message: str) -> bool:
    """Whether the message shows a text or a number that differs from the one that was sent."""
    shown = _SHOWN.match(message)
    if shown is None or isinstance(sent, dict | list):
        return False
    try:
        refused = json.loads(shown[1], strict=False)
    except ValueError:  # a character that Go does not escape as JSON does
        return False
    is_quantity = isinstance(refused, str) and _NUMBER.match(refused) and _NUMBER.match(str(sent))
    return str(refused) != str(sent) and not is_quantity


def _look_up(body: Raw, path: str) -> Any:
    """The value at the path of a field; None if the body has no such field."""
    found: Any = body
    for step in _STEP.finditer(path):
        key = step["name"] or step["key"]
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict):
            found = found.get(key)
        else:
            return None
    return found
