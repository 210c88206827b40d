"""What a stranger can make long costs no more than its length: texts, names, addresses, pieces."""

import contextlib
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import orjson
import pytest
import structlog

from api.constants import Role
from controller.client.api import read_events
from kube.logs import MAX_TAIL_BYTES
from pdj.code import unpack
from pdj.code.secret import is_secret
from pdj.documents.reader import read_documents
from pdj.errors import Problem
from reconcile.objects.rendezvous import build_config_map, moved_pods
from reconcile.words.cause import read_message
from reconcile.words.fault import fault_of
from reconcile.words.progress import Line
from tests.memory.builders import a_job, a_pod, view_of
from tests.memory.logs import STAMP
from tests.timings.pairs import assert_grows_with_its_length
from tests.unit.controller.fakes import SteppedClock
from tests.unit.controller.test_log_reader import Cluster
from tests.unit.pdj.test_parcel import a_parcel
from tests.unit.reconcile.test_progress import HOSTILE, START, read_progress
from tests.unit.reconcile.test_static_rendezvous import script, told, workers

Run = Callable[[], object]
CHUNK_BYTES = 4 << 10


def an_event_in_pieces(size: int) -> Run:
    event = orjson.dumps({"x": "x" * size}) + b"\n"
    starts = range(0, len(event), CHUNK_BYTES)
    pieces: Any = Mock(headers={})
    pieces.chunks.side_effect = lambda: (event[at : at + CHUNK_BYTES] for at in starts)
    return lambda: list(read_events(pieces))


def names_of_an_archive(size: int) -> Run:
    """Each name has 2,000 folders, any of which may be the link."""
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "x"
    members = [link, *(tarfile.TarInfo("a/" * 1990 + str(at)) for at in range(size))]
    return lambda: unpack.check(members)


def addresses(size: int) -> Run:
    """Those of pods that run, compared with the published ones."""
    job = a_job().with_workers(size).build()
    pods = [a_pod(job, Role.WORKER, index).running().build() for index in range(size)]
    view = view_of(job, *pods, config_maps=(build_config_map(view_of(job, *pods)),))
    assert len(view.pods) == size
    return lambda: moved_pods(view)


def a_script(size: int) -> Run:
    job = workers(2, script(f"fleetrun train.py {'x' * size}"))
    return lambda: told(job)


SIZES: dict[str, tuple[Callable[[int], Run], int]] = {
    "event in pieces": (an_event_in_pieces, 4 << 20),
    "names of an archive": (names_of_an_archive, 1000),
    "addresses": (addresses, 2000),
    "script": (a_script, 100_000),
}


@pytest.mark.parametrize(("make", "size"), SIZES.values(), ids=SIZES)
def test_what_is_long_costs_no_more_than_its_length(make, size):
    assert_grows_with_its_length(make, size)


@pytest.mark.parametrize(
    "piece", ["timeout ", "gloo", "a.", "a\n", "nccl ", ": (A", "', 'A': '", "\x1b]", "error ", "|"]
)
def test_a_last_message_costs_no_more_than_its_length(piece):
    def make(size: int) -> Run:
        return lambda: read_message(f"LAUNCH INFO {STAMP} x\n{piece * size}")

    assert_grows_with_its_length(make, 4096)


def test_a_line_of_a_launcher_costs_no_more_than_its_length():
    def make(size: int) -> Run:
        return lambda: fault_of("LAUNCH ERROR " + "nccl" * size)

    assert_grows_with_its_length(make, 8000)


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_lines_of_progress_cost_no_more_than_their_length(piece):
    def make(size: int) -> Run:
        return partial(read_progress, [Line(START, (piece * size)[:size])] * 100)

    assert_grows_with_its_length(make, 500)


def test_a_marked_line_costs_no_more_than_its_length():
    """Of names in one word, each would take the rest of the word for its value."""

    def make(size: int) -> Run:
        return partial(read_progress, [Line(START, f"paddlejob:{'a=:' * size}"[:size])] * 100)

    assert_grows_with_its_length(make, 500)


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_log_costs_no_more_than_its_length(piece):
    cluster = Cluster(SteppedClock(), structlog.get_logger())

    def make(size: int) -> Run:
        line = (piece * size).encode()[-size:]
        log = b"".join(b"2026-01-02T03:04:%02d.000000001Z %s\n" % (i, line) for i in range(40))
        return lambda: cluster.first_read(log)

    assert_grows_with_its_length(make, MAX_TAIL_BYTES // 40 - 34)


@pytest.mark.parametrize("piece", ["[", "- ", '{"a":'], ids=["list", "items", "map"])
def test_a_file_that_is_refused_costs_no_more_than_its_length(tmp_path: Path, piece: str) -> None:
    def make(size: int) -> Run:
        file = tmp_path / f"{size}.yaml"
        file.write_text(piece * size)
        return lambda: refuse(file)

    assert_grows_with_its_length(make, 200_000)


def refuse(file: Path) -> None:
    with contextlib.suppress(Problem):
        read_documents(str(file))
        raise AssertionError(f"{file} is read")


@pytest.mark.parametrize("piece", ["a/", "-secret", ".env", "id_rsa-", "~", ".bak"])
def test_a_name_is_judged_by_no_more_than_its_length(piece):
    def make(size: int) -> Run:
        name = piece * (size // len(piece))
        return lambda: [is_secret(name) for _ in range(50)]

    assert_grows_with_its_length(make, 4096)


@pytest.mark.parametrize("piece", ["a", "://", "://x:", "&token", "?", "-r r.txt\n", "\\\n"])
def test_requirements_are_judged_by_no_more_than_their_length(tmp_path: Path, piece: str) -> None:
    def make(size: int) -> Run:
        folder = tmp_path / str(size)
        folder.mkdir()
        return a_parcel(folder, piece * (size // len(piece))).pack

    assert_grows_with_its_length(make, 200_000)
