"""The page of `kubectl pdj ui` as a reader sees it: the command as a process, and a real browser.

The browser is Debian's: `python -m tests.live.prepare` installs it where it can. Without it the
tests of the page are skipped.
"""

import contextlib
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.live import debian, patience
from tests.live.pdj import command, environment

FONT = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
"""As root there is no sandbox, and little shared memory in a container."""
URL = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=\S+")


def program() -> str | None:
    return shutil.which("chromium")


def install() -> str:
    """Install the browser where this is Debian and its user may; what is missing then."""
    debian.ensure("chromium", FONT)
    return "" if program() else "no browser: the tests of the page are skipped"


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser; skips the test where there is none."""
    path = program()
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


@dataclass(frozen=True, slots=True)
class Served:
    """A running `kubectl pdj ui`: the address that it has printed, with the token."""

    url: str
    port: int
    process: "subprocess.Popen[str]"

    @property
    def base(self) -> str:
        """The address without the token."""
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def served(kubeconfig: str, *arguments: str, **more: str) -> Iterator[Served]:
    """`kubectl pdj ui` while the block lasts, on a free port; it has to end well and in silence.

    It opens a browser only where `BROWSER` names one.
    """
    words = ["--port=0", *(() if "BROWSER" in more else ("--no-browser",)), *arguments]
    process = subprocess.Popen(
        command("ui", *words),
        env=environment(kubeconfig, **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        found = URL.search(line)
        assert found, (line, process.communicate(timeout=patience.SECONDS))
        yield Served(found[0], int(found[1]), process)
    finally:
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=patience.SECONDS)
    assert (out, said) == ("", "")
