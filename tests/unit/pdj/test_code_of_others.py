"""`code` and `debug` with code that somebody else has written: small archives that take much, and
broken ones.
"""

import argparse
import base64
import gzip
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.objects import Raw
from kube.errors import Forbidden, Transient
from pdj.code.archive import MAX_DEPTH, pack
from pdj.code.bundle import ARCHIVE, Bundle
from pdj.commands import code, debug
from pdj.commands.code import MAX_FOLDERS, describe
from pdj.errors import Problem
from pdj.session import Screen, Session
from tests.unit.pdj.cluster import JOBS, Cluster, placed

MAPS = "/api/v1/namespaces/default/configmaps"
MEMORY_BYTES, SECONDS = 200 << 20, 20


def entry(name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", **fields: Any) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


def pax(kind: bytes, records: bytes) -> bytes:
    return entry("pax", kind, records)


def record(key: bytes, value: bytes) -> bytes:
    size = len(key) + len(value) + 3
    while len(b"%d" % size) + len(key) + len(value) + 3 != size:
        size = len(b"%d" % size) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (size, key, value)


def a_sparse_map() -> bytes:
    numbers = b"1000000\n" + b"0\n" * 2_000_000
    head = record(b"GNU.sparse.major", b"1") + record(b"GNU.sparse.minor", b"0")
    return pax(tarfile.XHDTYPE, head) + entry("x", content=numbers)


def an_old_sparse_file() -> bytes:
    made = bytearray(entry("x", tarfile.GNUTYPE_SPARSE, b"0123456789"))
    made[386:410] = b"%011o\0%011o\0" % (400 << 20, 10)
    made[483:495] = b"%011o\0" % ((400 << 20) + 10)
    made[148:156] = b"        "
    made[148:156] = b"%06o\0 " % sum(made[:512])
    return bytes(made)


def of_folders() -> bytes:
    deep = "/".join("d" * (MAX_DEPTH - 3))
    return b"".join(entry(f"{at}/{deep}/x") for at in range(MAX_FOLDERS // MAX_DEPTH + 60))


def long_named(name: str) -> bytes:
    info = tarfile.TarInfo(name)
    return info.tobuf(tarfile.GNU_FORMAT)


PLAIN: dict[str, Callable[[], bytes]] = {
    "a sparse map": a_sparse_map,
    "a sparse file of the old kind": an_old_sparse_file,
    "global headers": lambda: b"".join(
        pax(tarfile.XGLTYPE, record(b"k%d" % at, b"v" * 60_000)) for at in range(300)
    ),
    "headers": lambda: b"".join(
        pax(tarfile.XHDTYPE, record(b"k", b"v" * 60_000)) for _ in range(3000)
    ),
    "a size of no number": lambda: pax(tarfile.XHDTYPE, record(b"size", b"x")) + entry("x"),
    "a record of no length": lambda: pax(tarfile.XHDTYPE, b"x path=y\n") + entry("x"),
    "negative": lambda: entry("x", size=-512),
    "a hard link": lambda: entry("a") + entry("b", tarfile.LNKTYPE, linkname="a"),
    "a device": lambda: entry("b", tarfile.CHRTYPE, devmajor=1, devminor=5),
    "a block device": lambda: entry("b", tarfile.BLKTYPE),
    "a pipe": lambda: entry("b", tarfile.FIFOTYPE),
    "a folder": lambda: entry("b", tarfile.DIRTYPE),
    "a contiguous file": lambda: entry("b", tarfile.CONTTYPE),
    "of no known kind": lambda: entry("b", b"Z"),
    "folders": of_folders,
    "one in many folders": lambda: long_named("d/" * (MAX_DEPTH + 1) + "x"),
    "names of 4,097 bytes": lambda: long_named("x" * 4097),
    "a name of a name": lambda: entry("", tarfile.GNUTYPE_LONGNAME, b"a\0") * 3000 + entry("x"),
    "names of names": lambda: entry("", tarfile.GNUTYPE_LONGNAME, b"a\0") * 20 + entry("x"),
}
EXTRACTED = {
    "a link out": lambda: entry("l", tarfile.SYMTYPE, linkname="../x"),
    "a name out": lambda: entry("../x"),
    "from the root": lambda: entry("/tmp/x"),
    "a name of 4,096 bytes": lambda: long_named("x" * 4095),
    "a name longer than any": lambda: long_named("é" * 200),
    "the same name twice": lambda: entry("x") * 2,
}
"""These are listed, as they have a name, and not extracted."""


def a_map(packed: bytes) -> Raw:
    made = Bundle(pack(Path(), [], [], {"x": b""})).config_map(placed())
    made["binaryData"][ARCHIVE] = base64.b64encode(packed).decode()
    return made


def a_cluster(config_map: Raw | None, **lists: Any) -> Cluster:
    cluster = Cluster(**lists)
    if config_map:
        cluster.create(MAPS, config_map)
    job = Bundle(pack(Path(), [], [], {"x": b""})).attach(placed(uid="1"))
    cluster.objects[f"{JOBS}/mine"] = job | {"status": {"phase": "Running"}}
    return cluster


def a_session(cluster: Cluster, **options: Any) -> tuple[Session, io.StringIO]:
    said = io.StringIO()
    given = argparse.Namespace(job="mine", namespace="default", **options)
    session = Session(given, Screen(said), Screen(said))
    session.__dict__["client"] = cluster
    return session, said


def bundled(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    """The files that `debug` writes."""
    file = tmp_path / "bundle.tar.gz"
    session, said = a_session(cluster, output=str(file), with_env=False)
    assert debug.run(session) == 0
    with tarfile.open(file) as archive:
        files = {name: archive.extractfile(name) for name in archive.getnames()}
        texts = {
            name.partition("/")[2]: file.read().decode() for name, file in files.items() if file
        }
    for line in texts["problems.txt"].splitlines():
        assert line in said.getvalue()
    return texts


@pytest.mark.parametrize("plain", PLAIN.values(), ids=PLAIN)
def test_what_we_do_not_write_is_one_line_and_written_nowhere(plain, tmp_path):
    config_map = a_map(gzip.compress(plain()))
    with pytest.raises(Problem, match=r"^the code in mine-code-[0-9a-f]{8} ") as refused:
        describe(config_map)
    session, _ = a_session(a_cluster(config_map), extract=str(tmp_path / "out"))
    with pytest.raises(Problem):
        code.run(session)
    assert not (tmp_path / "out").exists()
    texts = bundled(a_cluster(config_map), tmp_path)
    assert f"code.txt: {refused.value}" in texts["problems.txt"]
    assert "job.json" in texts


@pytest.mark.parametrize("plain", EXTRACTED.values(), ids=EXTRACTED)
def test_what_leads_out_or_has_no_place_is_not_extracted(plain, tmp_path):
    config_map = a_map(gzip.compress(plain()))
    describe(config_map)
    session, _ = a_session(a_cluster(config_map), extract=str(tmp_path / "in/out"))
    with pytest.raises(Problem, match="is damaged"):
        code.run(session)
    assert not [*(tmp_path / "in").iterdir()]


def test_names_make_no_lines_of_their_own_in_a_terminal_or_a_bundle(tmp_path):
    names = [entry("a\n        7  fake.py"), entry("\x1b]0;x\x07"), entry("\u202egpj.py")]
    config_map = a_map(gzip.compress(b"".join(names)))
    lines = describe(config_map)
    assert lines == bundled(a_cluster(config_map), tmp_path)["code.txt"].split("\n")[:-1]
    assert len(lines) == 1 + len(names)
    assert all(line.isprintable() for line in lines)


MEASURE = """
import json, re, sys, time
from pathlib import Path
from pdj.commands.code import describe
from pdj.errors import Problem
config_map = json.load(sys.stdin)
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
try:
    describe(config_map)
except Problem:
    pass
print(peak() - before, time.process_time())
"""
LARGE = {
    **{name: PLAIN[name] for name in ("a sparse map", "global headers", "headers")},
    "zeros behind its end": lambda: entry("x") + bytes(300 << 20),
    "a file of zeros": lambda: entry("x", size=255 << 20) + bytes(255 << 20),
    "long names": lambda: b"".join(
        long_named(f"{at:04}/" + "/".join(["x" * 40] * 90)) for at in range(400)
    ),
    "long names of folders, of wide characters": lambda: b"".join(
        long_named(f"{at:04}😀{'x' * 3700}/" + "x/" * 98 + "x") for at in range(500)
    ),
    "long links of wide characters": lambda: b"".join(
        entry(f"{at:05}😀{'x' * 4080}", tarfile.SYMTYPE, linkname="😀" + "x" * 4080)
        for at in range(9990)
    ),
}


@pytest.mark.parametrize("plain", LARGE.values(), ids=LARGE)
def test_small_archives_take_little(plain):
    config_map = a_map(gzip.compress(plain()))
    assert len(json.dumps(config_map)) < 2 << 20
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        input=json.dumps(config_map),
        capture_output=True,
        text=True,
        check=True,
    )
    kib, seconds = map(float, done.stdout.split())
    assert kib * 1024 < MEMORY_BYTES
    assert seconds < SECONDS


def test_an_archive_cut_off_at_any_byte_is_listed_whole_or_one_line(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 700)
    (tmp_path / ("n" * 120)).write_text("y")
    (tmp_path / "l").symlink_to("a")
    packed = pack(tmp_path, ["a", "l", "n" * 120], []).packed
    listed = describe(a_map(packed))
    for end in range(len(packed)):
        try:
            lines = describe(a_map(packed[:end]))
        except Problem as refused:
            assert "is damaged" in str(refused)
        else:  # only zeros at the end are missing, and the digest says so
            assert lines[0] != listed[0]
            assert lines[1:] == listed[1:]
    plain = gzip.decompress(packed)
    for end in range(0, 4096, 16):
        try:
            describe(a_map(gzip.compress(plain[:end], 1)))
        except Problem as refused:
            assert "is damaged" in str(refused)


def test_an_archive_with_any_byte_changed_is_listed_or_one_line(tmp_path):
    (tmp_path / ("n" * 120)).write_text("y")
    (tmp_path / "l").symlink_to("n" * 120)
    plain = bytearray(gzip.decompress(pack(tmp_path, ["l", "n" * 120], []).packed))
    for at in range(512 * 6):
        for wrong in (0x53, 0x80):
            changed = plain[:at] + bytes([wrong]) + plain[at + 1 :]
            block = at // 512 * 512
            header = changed[block : block + 512]
            header[148:156] = b" " * 8
            if any(plain[block : block + 512]):
                changed[block + 148 : block + 156] = b"%06o\0 " % sum(header)
            try:
                describe(a_map(gzip.compress(bytes(changed), 1)))
            except Problem as refused:
                assert "mine-code-" in str(refused)


@pytest.mark.parametrize(
    "data", [{ARCHIVE: "a"}, {ARCHIVE: 7}, {ARCHIVE: "é"}, {ARCHIVE: None}, {}]
)
def test_code_that_is_no_base64_is_one_line(data):
    made = a_map(b"") | {"binaryData": data}
    with pytest.raises(Problem, match=r"is damaged|holds no"):
        describe(made)


class Broken(Cluster):
    """A cluster of which one thing fails."""

    def __init__(self, what: str, error: Exception, **lists: Any) -> None:
        super().__init__(**lists)
        self.what, self.error = what, error

    def get(self, path: str, query: Raw | None = None, *_: Any, **__: Any) -> Raw:
        self._fail(path)
        return super().get(path, query)

    def find(self, path: str, *_: Any, **__: Any) -> Raw | None:
        self._fail(path)
        return self.objects.get(path)

    def list(self, path: str, *_: Any) -> tuple[list[Raw], str]:
        self._fail(path)
        return super().list(path)

    def _fail(self, path: str) -> None:
        if self.what in path:
            raise self.error


def a_pod(name: str, **fields: Any) -> Raw:
    status = {"containerStatuses": [{"name": "paddle", "state": {"running": {}}}]}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {}},
        "spec": {},
        "status": status,
        **fields,
    }


@pytest.mark.parametrize(
    "error",
    [
        ValueError("odd"),
        KeyError("x"),
        RecursionError(),
        Transient("late"),
        Forbidden("no"),
        UnicodeError(),
        MemoryError(),
    ],
)
@pytest.mark.parametrize("what", ["/configmaps/", "/pods", "/events", "/nodes", "bindings", "/log"])
def test_any_failure_of_one_part_is_a_line_and_the_others_are_there(what, error, tmp_path):
    pods = [a_pod("mine-worker-0", spec={"nodeName": "node-1"})]
    lists: Raw = {"pods": pods, "events": []}
    lists |= {"clusterrolebindings": [], "rolebindings": []}
    cluster = Broken(what, error, **lists)
    cluster.objects |= a_cluster(a_map(pack(Path(), [], [], {"x": b""}).packed)).objects
    cluster.logs = {"mine-worker-0": error if what == "/log" else "a line"}
    texts = bundled(cluster, tmp_path)
    expected = {
        "/configmaps/": "code.txt", "/pods": "pods/mine-worker-0.json", "/events": "events.json",
        "/nodes": "nodes.json", "/log": "logs/mine-worker-0-paddle.log",
    }  # fmt: skip
    wanted = {"job.json", "problems.txt", "operator.log", *expected.values()} - {expected.get(what)}
    if what == "/pods":
        wanted -= {"logs/mine-worker-0-paddle.log", "operator.log"}
    assert wanted <= {*texts}
    assert expected.get(what) not in texts
    if what != "bindings":
        assert texts["problems.txt"].count("\n") >= 1


ODD: tuple[Any, ...] = (None, 7, "x", [], {}, [1], {"a": [1]}, "\ud800", [None])


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_objects_leave_the_rest_of_the_bundle(odd, tmp_path):
    for job_fields, pod_fields in (
        ({"spec": odd}, {}),
        ({"status": odd}, {}),
        ({"spec": {"worker": odd}}, {}),
        ({"spec": {"worker": {"template": {"spec": {"volumes": odd}}}}}, {}),
        ({}, {"status": odd}),
        ({}, {"spec": odd}),
        ({}, {"status": {"containerStatuses": odd}}),
        ({}, {"status": {"containerStatuses": [{"name": odd, "state": odd, "lastState": odd}]}}),
    ):
        pods = [a_pod("mine-worker-0", **pod_fields), a_pod("mine-worker-1")]
        cluster = a_cluster(None, pods=pods, events=[{"involvedObject": odd}], nodes=[])
        cluster.objects[f"{JOBS}/mine"] |= job_fields
        cluster.logs = {"mine-worker-0": "a", "mine-worker-1": "b"}
        texts = bundled(cluster, tmp_path)
        (tmp_path / "bundle.tar.gz").unlink()
        assert {"pods/mine-worker-1.json", "logs/mine-worker-1-paddle.log", "job.json"} <= {*texts}
