"""Runs a login plugin, with limits on time and output.

Its messages go to standard error as they come, without control characters. A plugin that has not
ended by itself is killed with everything that it has started.
"""

import codecs
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pdj.errors import Problem

PATIENCE_SECONDS = 5.0
"""After so long the user is told what is waited for."""
MAX_BYTES = 1 << 20
"""Of the answer, and of the words for the user."""
_POLL_SECONDS = 0.1
_ENDS = (signal.SIGTERM, signal.SIGHUP)


def run_plugin(command: list[str], environment: dict[str, str], seconds: float) -> bytes:
    """Run the plugin; returns its output. Raises Problem in one line."""
    name = f"the login plugin {command[0]}"
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Problem(f"{name} cannot be run: {error}") from error
    with process, _ended_with_us(process):
        answer = _read(process, name, seconds)
    if process.returncode:
        raise Problem(f"{name} has failed: exit code {process.returncode}")
    return answer


def _read(process: "subprocess.Popen[bytes]", name: str, seconds: float) -> bytes:
    """Its output once it has ended, even if something that it started is still running."""
    started, is_told, answer = time.monotonic(), False, bytearray()
    with selectors.DefaultSelector() as streams:
        streams.register(process.stdout or 0, selectors.EVENT_READ, answer.extend)
        streams.register(process.stderr or 0, selectors.EVENT_READ, _show_words())
        left = dict.fromkeys((key.fd for key in streams.get_map().values()), MAX_BYTES)
        while True:
            has_ended, waited = process.poll() is not None, time.monotonic() - started
            ready = streams.select(_POLL_SECONDS if not has_ended else 0)
            for key, _ in ready:
                data = os.read(key.fd, MAX_BYTES)
                left[key.fd] -= len(data)
                if left[key.fd] < 0:
                    raise Problem(f"{name} prints more than {MAX_BYTES >> 20} MiB")
                if not data:
                    streams.unregister(key.fd)
                key.data(data)
            if has_ended and not ready:
                return bytes(answer)
            if waited > seconds:
                raise Problem(f"{name} has not answered within {seconds:g} s")
            if waited > PATIENCE_SECONDS and not is_told:
                is_told = True
                sys.stderr.write(_plain(f"waiting for {name}, {seconds:g} s at most") + "\n")


def _show_words() -> Callable[[bytes], None]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def show(data: bytes) -> None:
        lines = decoder.decode(data, final=not data).replace("\r\n", "\n").split("\n")
        sys.stderr.write("\n".join(map(_plain, lines)))
        sys.stderr.flush()

    return show


def _plain(text: str) -> str:
    """The text without control characters."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


@contextmanager
def _ended_with_us(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """End a plugin that still runs, also where a signal ends this process; nohup ignores one."""
    is_main = threading.current_thread() is threading.main_thread()
    ends = [each for each in _ENDS if is_main and signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, _exit) for number in ends}
    try:
        yield
    finally:
        if process.poll() is None:
            with suppress(OSError):  # it has ended by itself
                os.killpg(process.pid, signal.SIGKILL)
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, _frame: object) -> None:
    sys.exit(128 + number)
