"""The end of a log in a ConfigMap: bounded both ways."""

import base64
import random
import zlib

import pytest

from reconcile.objects.kept_log import MAX_KEPT_BYTES, MAX_PACKED_BYTES, pack_log, unpack_log


def test_a_usual_log_comes_back_whole():
    lines = [f"epoch 1 step {number} loss {1 / (number + 1)}" for number in range(200)]
    kept = {"binaryData": {"pod": pack_log("\n".join(lines).encode())}}
    assert unpack_log(kept, "pod") == lines
    assert unpack_log(kept, "another") == []


@pytest.mark.parametrize("end", [b"\n", b" "], ids=["lines", "one line"])
def test_of_what_does_not_fit_the_end_is_kept(end):
    log = b"".join(random.Random(1).randbytes(60).hex().encode() + end for _ in range(200))
    packed = pack_log(log)
    assert len(base64.b64decode(packed)) <= MAX_PACKED_BYTES
    lines = unpack_log({"binaryData": {"pod": packed}}, "pod")
    assert lines
    assert log.decode().endswith("\n".join(lines) + "\n" * (end == b"\n"))


@pytest.mark.parametrize("data", ["?", "AAAA", base64.b64encode(b"x" * 99).decode()])
def test_what_is_no_log_has_no_lines(data):
    assert unpack_log({"binaryData": {"pod": data}}, "pod") == []


def test_a_bomb_takes_no_memory():
    bomb = base64.b64encode(zlib.compress(b"x" * 10_000_000, wbits=31)).decode()
    (line,) = unpack_log({"binaryData": {"pod": bomb}}, "pod")
    assert len(line) == MAX_KEPT_BYTES
