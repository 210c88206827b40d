"""How `kubectl pdj ui` opens a browser: by a file of the user's, which other users cannot read."""

import queue
import re
import signal
import stat
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from starlette.responses import PlainTextResponse

from localcluster.client.kubeconfig import write_kubeconfig
from localcluster.machine import clock
from pdj.ui.door import Door
from pdj.ui.guard import Guard
from tests.live import patience
from tests.live.pdj import CHECKOUT, environment
from tests.live.processes import open_directly

SERVE = """
import argparse
from pdj.session import Session
from pdj.ui.server import serve
options = argparse.Namespace(kubeconfig=None, context=None, port=0, no_browser=False)
serve(Session(options), "", "en")
"""
BROWSER = """#!/bin/sh
printf '%s' "$*" > {folder}/began && mv {folder}/began {folder}/arguments
"""


def test_the_token_is_in_no_argument_and_the_file_goes(tmp_path):
    write_kubeconfig(tmp_path / "config", "http://127.0.0.1:9", b"", "")
    (tmp_path / "browser").write_text(BROWSER.format(folder=tmp_path))
    (tmp_path / "browser").chmod(0o755)
    names = {"BROWSER": str(tmp_path / "browser"), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        cwd=CHECKOUT,
        env=environment(str(tmp_path / "config"), **names),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            printed = re.search(r"http://\S+token=(\S+)", process.stdout.readline())
            assert printed
            arguments = tmp_path / "arguments"
            assert clock.wait_until(arguments.exists, patience.SECONDS)
            assert printed[1] not in arguments.read_text()
            page = Path(unquote(urlsplit(arguments.read_text()).path))
            assert stat.S_IMODE(page.stat().st_mode) == 0o600
            assert f'content="0; url={printed[0]}"' in page.read_text()
            with open_directly(printed[0]) as answer:
                port = urlsplit(printed[0]).port
                assert answer.headers["set-cookie"].startswith(f"pdj-{port}=")
            assert clock.wait_until(lambda: not page.exists(), patience.SECONDS)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=patience.SECONDS)


def test_the_file_goes_at_the_end_though_nobody_came(tmp_path, monkeypatch):
    opened = queue.SimpleQueue[str]()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", opened.put)
    door = Door()
    door.open("http://127.0.0.1:1/?token=x")
    assert opened.get(timeout=patience.SECONDS).startswith(f"file://{tmp_path}/pdj-")
    assert list(tmp_path.iterdir())
    door.close()
    door.open("http://127.0.0.1:1/?token=x")
    assert not list(tmp_path.iterdir())


def test_a_tunnel_with_another_port_is_told_the_pages_own():
    sent: list[dict[str, Any]] = []

    async def ask() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
        scope["headers"] = [(b"host", b"localhost:9000")]
        await Guard(PlainTextResponse("let in"), 8470, lambda: None)(scope, receive, send)

    anyio.run(ask)
    assert sent[0]["status"] == HTTPStatus.FORBIDDEN
    assert b"127.0.0.1:8470 or localhost:8470" in sent[1]["body"]
