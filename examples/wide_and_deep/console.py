"""What the programs print, and how Fleet is kept from printing more."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path


def log(line: str) -> None:
    """Print a line with the time of day; flushed, so that `kubectl logs -f` shows it at once."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress Fleet's long output and all UserWarnings; VERBOSE=1 lets them through."""
    if os.environ.get("VERBOSE"):
        yield
        return
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        yield
