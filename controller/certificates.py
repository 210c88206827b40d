"""The TLS of /metrics: a self-signed certificate that is renewed, or files that are reloaded.

The self-signed key never leaves memory. Only the server's thread calls `context`, for each
connection. If a changed file cannot be used, the log says why, and the last certificate stays.
"""

import os
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controller.health import Encryption
from controller.logs import Log
from kube.clock import Clock

VALID_FOR = timedelta(days=90)
RENEWED_BEFORE = timedelta(days=30)
CLOCK_SKEW = timedelta(hours=1)
CERTIFICATE_FILE = "tls.crt"
KEY_FILE = "tls.key"
"""The names of the files, as in a Secret of type kubernetes.io/tls."""
MAX_CERTIFICATE_BYTES = 1 << 20


class CertificateError(OSError):
    """A certificate that cannot be used; the message says which and why."""


class OwnCertificate:
    """A self-signed certificate, renewed a month before it expires."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._made_at = clock.now()
        self._context = _make_context(self._made_at)

    def context(self) -> ssl.SSLContext:
        """The TLS of the next connection."""
        now = self._clock.now()
        # Also renewed after the clock was set back: the certificate would not be valid yet.
        if not self._made_at - CLOCK_SKEW <= now < self._made_at + VALID_FOR - RENEWED_BEFORE:
            self._made_at, self._context = now, _make_context(now)
        return self._context


class CertificateFiles:
    """TLS with tls.crt and tls.key of a folder. Raises CertificateError if it cannot use them.

    The two small files are read for each connection, to see whether they have changed. After the
    start, errors are only logged.
    """

    def __init__(self, folder: str, clock: Clock, log: Log) -> None:
        self._folder = Path(folder)
        self._clock = clock
        self._log = log
        self._pair = self._read()
        self._context, self._ends_at = self._load(*self._pair)
        self._refused = ""
        """Why the files that were read last were refused; empty if they were not."""

    def context(self) -> ssl.SSLContext:
        """The TLS of the next connection."""
        try:
            self._read_again()
        except CertificateError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                self._log.error("metrics_certificate_refused", error=self._refused)
        if self._clock.now() >= self._ends_at:
            self._log.error("metrics_certificate_expired", at=self._ends_at.isoformat())
            self._ends_at = datetime.max.replace(tzinfo=UTC)  # so that this is logged once
        return self._context

    def _read_again(self) -> None:
        pair = self._read()
        if pair != self._pair:
            self._context, self._ends_at = self._load(*pair)
            self._pair = pair
            self._log.info("metrics_certificate_read", valid_until=self._ends_at.isoformat())
        self._refused = ""

    def _read(self) -> tuple[bytes, bytes]:
        return _read(self._folder / CERTIFICATE_FILE), _read(self._folder / KEY_FILE)

    def _load(self, certificate: bytes, key: bytes) -> tuple[ssl.SSLContext, datetime]:
        path = self._folder / CERTIFICATE_FILE
        try:
            ends_at = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        except (ValueError, x509.InvalidVersion) as error:
            raise CertificateError(f"{path} has no certificate in it: {error}") from error
        if ends_at <= self._clock.now():
            raise CertificateError(f"{path} expired at {ends_at.isoformat()}")
        try:
            return _context_of(certificate + b"\n" + key), ends_at
        except (ssl.SSLError, ValueError) as error:
            what = f"{path} and {KEY_FILE} beside it do not match"
            raise CertificateError(f"{what}: {error}") from error
        except OSError as error:  # no descriptor is left, or no memory
            raise CertificateError(f"cannot load {path}: {error.strerror}") from error


def load_encryption(folder: str, clock: Clock, log: Log) -> Encryption:
    """TLS with the files of a folder, or with a self-signed certificate if `folder` is empty."""
    return CertificateFiles(folder, clock, log).context if folder else OwnCertificate(clock).context


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_CERTIFICATE_BYTES)
    except OSError as error:
        raise CertificateError(f"cannot read {path}: {error.strerror}") from error


def _context_of(chain: bytes) -> ssl.SSLContext:
    """TLS with this certificate and key. ssl can only load files, so one is made in memory."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    memory = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(memory, chain)
        # Without this, a key with a password would prompt for it at the terminal.
        context.load_cert_chain(f"/proc/self/fd/{memory}", password="")
    finally:
        os.close(memory)
    return context


def _make_context(now: datetime) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    host = socket.gethostname()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return _context_of(certificate.public_bytes(serialization.Encoding.PEM) + private)
