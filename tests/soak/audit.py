"""Follows the API server's audit log: what an account has written since the last look."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

READS = ("get", "list", "watch")
ANNOUNCED = ("leases", "events")
"""A Lease is renewed at rest, and an Event may come late."""


class WriteLog:
    """The writes of one account, read once each. A line that is not whole yet is read later."""

    def __init__(self, path: Path, account: str) -> None:
        self._path, self._account = path, account
        self._offset = 0
        self.totals: Counter[str] = Counter()
        """Those that succeeded, as `create pods`."""

    def take(self) -> list[str]:
        """What was tried since the last time, refused or not, but for what is announced."""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        entries = (json.loads(line) for line in whole.splitlines())
        return [self._note(entry) for entry in entries if self._is_write(entry)]

    def _is_write(self, entry: dict[str, Any]) -> bool:
        what = entry.get("objectRef") or {}
        return (
            entry.get("stage") == "ResponseComplete"
            and entry["user"]["username"] == self._account
            and entry["verb"] not in READS
            and what.get("resource") not in ANNOUNCED
        )

    def _note(self, entry: dict[str, Any]) -> str:
        what, code = entry["objectRef"], (entry.get("responseStatus") or {}).get("code", 0)
        resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
        if code < 400:
            self.totals[f"{entry['verb']} {resource}"] += 1
        return f"{entry['verb']} {resource} {what.get('namespace')}/{what.get('name')}: {code}"
