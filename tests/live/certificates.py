"""Certificates of a server on this machine, each signed by an authority of its own."""

from dataclasses import dataclass
from pathlib import Path

from localcluster.client.pki import Authority
from localcluster.machine.ports import HOST


@dataclass(frozen=True, slots=True)
class Certificate:
    """With what a server proves who it is; `authority` has signed it, all in PEM files."""

    certificate: Path
    key: Path
    authority: Path


def write_certificate(folder: Path) -> Certificate:
    """A new one, in the folder: over the last one where there is one."""
    authority = Authority()
    pair = authority.issue("proxy", ["localhost"], [HOST])
    paths = Certificate(folder / "proxy.crt", folder / "proxy.key", folder / "proxy-ca.crt")
    for path, content in zip(
        (paths.certificate, paths.key, paths.authority),
        (pair.certificate, pair.key, authority.certificate),
        strict=True,
    ):
        path.write_bytes(content)
    return paths
