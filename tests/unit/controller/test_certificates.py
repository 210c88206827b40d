"""Certificates that are made, renewed, read again, and refused with words."""

import base64
import datetime
import errno
import os
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from structlog.testing import LogCapture

from controller.certificates import (
    RENEWED_BEFORE,
    VALID_FOR,
    CertificateError,
    CertificateFiles,
    OwnCertificate,
    load_encryption,
)
from controller.logs import Log
from tests.unit.controller.fakes import START, SteppedClock

DAY = datetime.timedelta(days=1)


@pytest.fixture
def logged() -> LogCapture:
    return LogCapture()


@pytest.fixture
def log(logged) -> Log:
    return structlog.wrap_logger(None, processors=[logged])


@pytest.fixture
def events(logged) -> Callable[[], list[str]]:
    """What has been logged."""
    return lambda: [entry["event"] for entry in logged.entries]


def a_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey, password: bytes = b"") -> bytes:
    """A key as a file has it."""
    no = serialization.NoEncryption()
    how = serialization.BestAvailableEncryption(password) if password else no
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


def write_pair(folder: Path, name: str, ends_at=START + DAY, password: bytes = b"") -> None:
    """tls.crt and tls.key, as an update of a Secret's volume puts them there."""
    key = a_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ends_at - 400 * DAY)
        .not_valid_after(ends_at)
        .sign(key, hashes.SHA256())
    )
    put(folder / "tls.crt", built.public_bytes(serialization.Encoding.PEM))
    put(folder / "tls.key", key_pem(key, password))


def put(path: Path, content: bytes) -> None:
    """A file that is there at once, and another than before."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)


def served(context: ssl.SSLContext) -> x509.Certificate:
    """The certificate that a client is shown."""
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=lambda: context.wrap_socket(ours, server_side=True).close())
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    server.start()
    with client.wrap_socket(theirs) as connection:
        shown = connection.getpeercert(binary_form=True)
    server.join()
    assert shown is not None
    return x509.load_der_x509_certificate(shown)


def name_of(context: ssl.SSLContext) -> str:
    """Whom the certificate is for."""
    (attribute,) = served(context).subject
    return str(attribute.value)


def test_one_of_its_own_is_renewed_before_its_end(clock: SteppedClock):
    source = OwnCertificate(clock)
    first = served(source.context())
    assert first.not_valid_before_utc < clock.now() < first.not_valid_after_utc
    clock.step((VALID_FOR - RENEWED_BEFORE).total_seconds() - 1)
    assert served(source.context()) == first
    clock.step(2)
    second = served(source.context())
    assert second.serial_number != first.serial_number
    assert second.not_valid_after_utc > first.not_valid_after_utc


def test_one_of_its_own_is_renewed_when_the_clock_was_wrong(clock: SteppedClock):
    source = OwnCertificate(clock)
    clock.step(-10 * DAY.total_seconds())
    assert served(source.context()).not_valid_before_utc < clock.now()


@pytest.fixture
def source(tmp_path: Path, clock, log) -> CertificateFiles:
    """Files that hold the certificate of `first`."""
    write_pair(tmp_path, "first")
    return CertificateFiles(str(tmp_path), clock, log)


def test_files_are_read_again_when_they_change(tmp_path: Path, events, source):
    assert name_of(source.context()) == "first"
    write_pair(tmp_path, "second")
    assert name_of(source.context()) == "second"
    assert events() == ["metrics_certificate_read"]


DAMAGES = {
    "no certificate": lambda at: put(at / "tls.crt", b"half"),
    "half a pair": lambda at: put(at / "tls.key", b"half"),
    "no file": lambda at: (at / "tls.key").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_cannot_be_used_is_told_once_and_the_last_stays(tmp_path, events, source, damage):
    damage(tmp_path)
    assert [name_of(source.context()) for _ in range(2)] == ["first", "first"]
    assert events() == ["metrics_certificate_refused"]
    write_pair(tmp_path, "second")
    assert name_of(source.context()) == "second"


def refuse_memory(*_: object) -> int:
    raise OSError(errno.EMFILE, "Too many open files")


def test_what_was_refused_is_tried_again(tmp_path: Path, events, source, monkeypatch):
    write_pair(tmp_path, "second")
    with monkeypatch.context() as patched:
        patched.setattr(os, "memfd_create", refuse_memory)
        assert [name_of(source.context()) for _ in range(2)] == ["first", "first"]
    assert events() == ["metrics_certificate_refused"], "the same is logged once"
    assert [name_of(source.context()) for _ in range(2)] == ["second", "second"]
    assert events() == ["metrics_certificate_refused", "metrics_certificate_read"]


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path, events, source):
    path = tmp_path / "tls.key"
    before = path.stat()
    path.write_bytes(b"-" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    source.context()
    assert events() == ["metrics_certificate_refused"]


def test_one_that_expires_meanwhile_is_told_once(tmp_path: Path, clock, events, source):
    clock.step(2 * DAY.total_seconds())
    source.context()
    source.context()
    assert events() == ["metrics_certificate_expired"]


def spoil_version(folder: Path) -> None:
    pem = (folder / "tls.crt").read_bytes()
    der = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
    third, eighth = b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07"
    body = base64.encodebytes(der.replace(third, eighth, 1))
    put(
        folder / "tls.crt",
        b"-----BEGIN CERTIFICATE-----\n" + body + b"-----END CERTIFICATE-----\n",
    )


def spoil_folder(folder: Path) -> None:
    (folder / "tls.key").unlink()
    (folder / "tls.key").mkdir()


SPOILED = [
    (lambda at: (at / "tls.crt").unlink(), r"cannot read .*tls\.crt: No such file"),
    (lambda at: put(at / "tls.crt", b"x"), r"tls\.crt has no certificate in it"),
    (
        lambda at: put(at / "tls.key", key_pem(a_key())),
        "do not match: .*MISMATCH",
    ),
    (lambda at: put(at / "tls.key", b""), "do not match"),
    (lambda at: write_pair(at, "old", START), r"tls\.crt expired at 2026-01-02T03:04:05"),
    (lambda at: write_pair(at, "x", password=b"secret"), "do not match"),
    (spoil_version, r"tls\.crt has no certificate in it: .*version"),
    (spoil_folder, r"cannot read .*tls\.key: Is a directory"),
]


@pytest.mark.parametrize(("spoil", "told"), SPOILED)
def test_what_is_of_no_use_fails_the_start(tmp_path: Path, clock, log, spoil, told):
    write_pair(tmp_path, "first")
    spoil(tmp_path)
    with pytest.raises(CertificateError, match=told):
        load_encryption(str(tmp_path), clock, log)


def test_a_process_short_of_descriptors_is_told_so(tmp_path: Path, clock, log, monkeypatch):
    write_pair(tmp_path, "first")
    monkeypatch.setattr(os, "memfd_create", refuse_memory)
    with pytest.raises(CertificateError, match=r"cannot load .*tls\.crt: Too many open files"):
        load_encryption(str(tmp_path), clock, log)


def test_no_descriptor_is_left(tmp_path: Path, clock, log):
    write_pair(tmp_path, "first")
    load_encryption(str(tmp_path), clock, log)()
    load_encryption("", clock, log)()
    names = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    assert not [each for each in names if "memfd:certificate" in each or str(tmp_path) in each]
