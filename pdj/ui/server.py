"""Serves the page on a loopback port until Ctrl-C, and opens it in a browser."""

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from types import FrameType

import uvicorn

from pdj.errors import INTERRUPTED, Problem
from pdj.session import Session
from pdj.ui.app import App
from pdj.ui.door import Door
from pdj.ui.guard import Guard

ADDRESS = "127.0.0.1"
STOP_SECONDS = 2
PORT = 8470


class _Server(uvicorn.Server):
    """Calls `announce` when it serves and handles signals.

    After a signal it ends within 2 * STOP_SECONDS, even if the cluster does not answer.
    """

    def __init__(
        self, config: uvicorn.Config, announce: Callable[[], None], end: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._announce = announce
        self._end = end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, then announce it."""
        await super().startup(sockets)
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop serving after a signal; if that takes too long, end the process."""
        end = threading.Timer(2 * STOP_SECONDS, self._give_up)
        end.daemon = True
        end.start()
        super().handle_exit(sig, frame)

    def _give_up(self) -> None:
        self._end()
        os._exit(INTERRUPTED)


def serve(session: Session, namespace: str, language: str) -> None:
    """Serve until Ctrl-C. Raises Problem if the port is taken."""
    with _listen(session.options.port) as listening, closing(Door()) as door:
        port = listening.getsockname()[1]
        guard = Guard(App(session, namespace, language).build(), port, door.close)
        url = f"http://{ADDRESS}:{port}/?token={guard.token}"
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the page shows errors
        config = uvicorn.Config(
            guard,
            http="h11",
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        server = _Server(config, lambda: _announce(session, url, door), door.close)
        server.run(sockets=[listening])


def _announce(session: Session, url: str, door: Door) -> None:
    session.screen.write(f"the page is at {url} (for one browser; Ctrl-C ends it)")
    if not session.options.no_browser and _has_screen():
        try:
            door.open(url)
        except OSError as error:
            session.notes.write(f"no browser is opened: {error}")


def _listen(wanted: int | None) -> socket.socket:
    """A socket on the wanted port. If that is None, on the usual port, or on any if it is taken."""
    try:
        return socket.create_server((ADDRESS, PORT if wanted is None else wanted))
    except OSError as error:
        if wanted is None:
            return socket.create_server((ADDRESS, 0))
        raise Problem(
            f"port {wanted} is not available ({error.strerror}): --port chooses another"
        ) from error


def _has_screen() -> bool:
    """Whether a browser can open a window; a text browser would take this command's terminal."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)
