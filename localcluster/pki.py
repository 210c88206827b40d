"""The cluster's certificate authority: in memory, made anew at each start."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from localcluster import clock

VALID_FOR = datetime.timedelta(days=365)
CLOCK_SKEW = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs the certificates of servers and clients with a key that never leaves memory."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("localcluster-ca", ())
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        certificate = (
            self._builder(self._name, self._key)
            .add_extension(constraint, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    def issue_server(
        self, name: str, dns_names: Sequence[str], addresses: Sequence[str]
    ) -> KeyPair:
        """A server's certificate for these names and addresses."""
        names: list[x509.GeneralName] = [x509.DNSName(dns_name) for dns_name in dns_names]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        return self._issue(_name(name, ()), x509.SubjectAlternativeName(names))

    def issue_client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A certificate that the API server takes for this user in these groups."""
        return self._issue(_name(user, groups), None)

    def _issue(self, name: x509.Name, alternatives: x509.SubjectAlternativeName | None) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(name, key)
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = clock.utc_now()
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + VALID_FOR)
        )


def generate_signing_key() -> bytes:
    """A private key for ServiceAccount tokens, PEM in the form that Kubernetes reads."""
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # the one form read for signing keys
        serialization.NoEncryption(),
    )
