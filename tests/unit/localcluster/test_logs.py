"""The thread that writes all containers' logs."""

import os

from localcluster.node.runtime.logs import LogFile, LogPump
from tests.live import patience


def test_a_stream_that_a_fork_holds_open_stops_nobody(tmp_path):
    pump = LogPump()
    pump.start()
    copies = []
    for name in ("first", "second"):
        log = LogFile(tmp_path / name)
        pipes = [os.pipe(), os.pipe()]
        copies += [os.dup(reader) for reader, _ in pipes]  # as in a fork that has yet to exec
        pump.add(log, *(reader for reader, _ in pipes))
        for _, writer in pipes:
            os.write(writer, b"line\n")
            os.close(writer)
        assert log.complete.wait(patience.SECONDS), name
    for copy in copies:
        os.close(copy)
    assert pump.is_alive()
