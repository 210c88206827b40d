"""Reads the operator's metrics as Prometheus does: over TLS, with a token."""

import socket
import ssl

from cryptography import x509
from cryptography.x509.oid import NameOID

from tests.live import patience
from tests.live.processes import http_get


def scrape(address: str, token: str = "") -> tuple[int, str]:
    """Status and text of the answer at HOST:PORT; nobody can check the operator's certificate."""
    return http_get(f"https://{address}/metrics", token, _unverified())


def certificate_of(address: str) -> str:
    """The name in the certificate that is served at HOST:PORT."""
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), patience.SECONDS) as connection,
        _unverified().wrap_socket(connection) as encrypted,
    ):
        shown = x509.load_der_x509_certificate(encrypted.getpeercert(binary_form=True) or b"")
    (name,) = shown.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name.value)


def _unverified() -> ssl.SSLContext:
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return tls
