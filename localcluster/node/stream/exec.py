"""`kubectl exec`: a command in a container. The command's streams are channels of one WebSocket.

The first byte of a message is the channel. The last message to the client is the command's status.
"""

import contextlib
import json
import math
import os
import select
import signal
import termios
import threading

from localcluster.machine import clock
from localcluster.node.runtime.runtime import Process, Runtime
from localcluster.node.stream.channel import PIECE_BYTES, Channel

SUBPROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
OUTPUT_SECONDS = 1.0
"""How long to read output after the command's end, because its descendants can still write."""


class Exec:
    """One command, started by the constructor; `query` has the parameters of the request."""

    def __init__(
        self, channel: Channel, runtime: Runtime, container: Process, query: dict[str, list[str]]
    ) -> None:
        self._channel = channel
        self._runtime = runtime
        if query.get("tty") == ["1"]:
            terminal, theirs = os.openpty()
            stdin_end = os.dup(terminal)
            outputs, streams = {terminal: STDOUT}, [theirs] * 3
        else:
            (stdin, stdin_end), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
            outputs, streams = {out: STDOUT, err: STDERR}, [stdin, stdout, stderr]
        self._stdin = os.fdopen(stdin_end, "wb", buffering=0)
        self._process, report = runtime.exec(container, query.get("command", []), streams)
        if query.get("input") != ["1"]:
            self._stdin.close()
        arguments = (outputs, report)
        threading.Thread(target=self._answer, args=arguments, name="exec", daemon=True).start()

    def serve(self) -> None:
        """Pass the client's input to the command; kill the command when the client disconnects."""
        try:
            for message in self._channel.messages():
                # Ignore invalid messages, and input that the command does not read any more.
                with contextlib.suppress(Exception):
                    self._take(message)
        finally:
            self._runtime.kill(self._process, signal.SIGKILL)
            self._stdin.close()

    def _take(self, message: bytes) -> None:
        channel, data = message[0], message[1:]
        if channel == STDIN:
            while data:
                data = data[self._stdin.write(data) :]
        elif message == bytes([CLOSE, STDIN]):
            self._stdin.close()
        elif channel == RESIZE:
            size = json.loads(data)
            termios.tcsetwinsize(self._stdin.fileno(), (size["Height"], size["Width"]))

    def _answer(self, outputs: dict[int, int], report: int) -> None:
        """Send the output, then the status; `outputs` has the channel of each descriptor."""
        try:
            with contextlib.suppress(OSError):  # the client has left
                failure = self._copy(outputs, report)
                self._process.ended.wait()
                assert self._process.end is not None
                status = build_status(self._process.end.exit_code, failure)
                self._channel.send(bytes([STATUS]) + json.dumps(status).encode())
                self._channel.close()
        finally:
            self._runtime.kill(self._process, signal.SIGKILL)  # ends a write that it does not read
            for each in (*outputs, report):
                os.close(each)

    def _copy(self, outputs: dict[int, int], report: int) -> bytes:
        """Send the output to its end, or to OUTPUT_SECONDS after the command's; its failure."""
        poll, left, until, said = select.poll(), {*outputs, report}, math.inf, b""
        for each in left:
            poll.register(each, select.POLLIN)
        while left and clock.monotonic() < until:
            if not (ready := poll.poll(OUTPUT_SECONDS * 1000)):
                self._channel.ping()
            for each, _ in ready:
                data = _read(each)
                if each in outputs and data:
                    self._channel.send(bytes([outputs[each]]) + data)
                elif data:
                    said += data
                else:
                    poll.unregister(each)
                    left.remove(each)
                    until = clock.monotonic() + OUTPUT_SECONDS if each == report else until
        return said


def _read(descriptor: int) -> bytes:
    with contextlib.suppress(OSError):  # no process has the terminal open any more
        return os.read(descriptor, PIECE_BYTES)
    return b""


def build_status(exit_code: int, failure: bytes) -> dict[str, object]:
    """The Status for kubectl. `failure` is empty, or JSON that says why nothing was started."""
    if failure:
        message = f"error executing command in container: {json.loads(failure)['message']}"
        return {"status": "Failure", "reason": "InternalError", "message": message}
    if exit_code == 0:
        return {"status": "Success"}
    cause = {"reason": "ExitCode", "message": str(exit_code)}
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}}
