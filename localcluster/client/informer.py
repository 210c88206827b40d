"""Follows a collection of the API server, by the rules of `kube.watch`, and calls back.

Callbacks run in the informer's thread, one at a time: first `on_replace` with all objects of a
list, then `on_event` for each change. If a callback fails, everything is listed again.
"""

import threading
import traceback
from collections.abc import Callable
from typing import Any

from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError, Gone
from kube.watch import ListWatch
from localcluster.client.rest import Raw


class Informer(ListWatch[Raw]):
    """Lists and watches `path` in a thread of its own, from `start` until stopped."""

    def __init__(
        self,
        client: Client,
        path: str,
        on_replace: Callable[[list[Raw]], None],
        on_event: Callable[[str, Raw], None],
    ) -> None:
        super().__init__(client, path, {}, Clock())
        self._on_replace = on_replace
        self._on_event = on_event
        self._thread = threading.Thread(target=self.run, name=f"informer {path}", daemon=True)
        self.synced = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread's end, which `stop` does not."""
        self._thread.join()

    def _packer(self) -> Callable[[Raw], Raw]:
        return lambda obj: obj

    def _replace(self, entries: list[Raw], version: str) -> None:
        try:
            self._on_replace(entries)
        except Exception as error:
            self._skip(None, error, is_change=False)
        self.synced.set()

    def _change(self, kind: str, obj: Raw) -> None:
        self._on_event(kind, obj)

    def _skip(self, obj: Any, error: Exception, is_change: bool) -> None:
        traceback.print_exception(error)
        raise Gone("a callback has failed") from error

    def _fail(self, error: ApiError) -> float:
        if error.code:  # the server has answered
            print(f"cannot follow {self._path}: {error}", flush=True)
        return super()._fail(error)
