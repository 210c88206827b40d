"""The cluster's certificate authority. Its key is only in memory, and new at each start."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from localcluster.machine import clock

VALID_FOR = datetime.timedelta(days=365)
OTHER_USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "encipher_only",
    "decipher_only",
)
CLOCK_SKEW = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs the cluster's certificates with a key that never leaves memory."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("localcluster-ca")
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        # Python 3.13 rejects a CA without key usage.
        usage = x509.KeyUsage(
            key_cert_sign=True,
            crl_sign=True,
            **dict.fromkeys(OTHER_USES, False),
        )
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        certificate = (
            self._builder(self._name, self._key)
            .add_extension(constraint, critical=True)
            .add_extension(usage, critical=True)
            .add_extension(identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, dns_names: Sequence[str], addresses: Sequence[str]) -> KeyPair:
        """A new key and its certificate with these names and addresses, for servers or clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(dns_name) for dns_name in dns_names]
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        certificate = (
            self._builder(_name(name), key)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(authority, critical=False)
            .sign(self._key, hashes.SHA256())
        )
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


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # In this format, components also accept the key for ServiceAccount tokens.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
