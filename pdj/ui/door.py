"""Opens the browser on a private file that redirects to the page's address.

The address contains a token, and every user of a machine can see the arguments of its processes. So
the browser is started with the file's name instead. Any thread may use it.
"""

import os
import tempfile
import threading
import webbrowser
from pathlib import Path

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>kubectl pdj</title>'
    '<meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">kubectl pdj</a>'
)


class Door:
    """The file that redirects to the address; it exists from `open` to `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards _path and _is_closed."""
        self._path: Path | None = None
        self._is_closed = False

    def open(self, url: str) -> None:
        """Write the file and open it in the browser. Does nothing after `close`. Raises OSError."""
        with self._lock:
            if self._is_closed:
                return
            descriptor, name = tempfile.mkstemp(prefix="pdj-", suffix=".html")  # mode 0600
            self._path = path = Path(name)
            with os.fdopen(descriptor, "w") as file:
                file.write(_PAGE.format(url=url))
        threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()

    def close(self) -> None:
        """Remove the file. Called after the browser opened the page, or when the server ends."""
        with self._lock:
            self._is_closed = True
            if self._path is not None:
                self._path.unlink(missing_ok=True)
