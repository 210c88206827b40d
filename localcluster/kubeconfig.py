"""Kubeconfig files: self-contained, readable by their owner only."""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

from localcluster.pki import KeyPair

NAME = "localcluster"
Raw = dict[str, Any]


def token_user(token: str) -> Raw:
    """A user who shows a bearer token."""
    return {"token": token}


def certificate_user(pair: KeyPair) -> Raw:
    """A user who shows a client certificate."""
    return {
        "client-certificate-data": _base64(pair.certificate),
        "client-key-data": _base64(pair.key),
    }


def write_kubeconfig(path: Path, server: str, ca_certificate: bytes, user: Raw) -> Path:
    """Write the file in one step and return its path."""
    cluster = {"server": server, "certificate-authority-data": _base64(ca_certificate)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    write_private(path, yaml.safe_dump(content, sort_keys=False).encode())
    return path


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    unfinished.replace(path)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
