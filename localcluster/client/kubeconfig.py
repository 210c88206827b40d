"""Writes kubeconfig files, which are self-contained and readable by their owner only."""

import base64
import os
from pathlib import Path

import yaml

NAME = "localcluster"


def write_kubeconfig(path: Path, server: str, ca_certificate: bytes, token: str) -> Path:
    """Write the file atomically and return its path."""
    authority = base64.b64encode(ca_certificate).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": NAME, "cluster": {"server": server, "certificate-authority-data": authority}}
        ],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    write_private(path, yaml.safe_dump(content, sort_keys=False).encode())
    return path


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    unfinished.replace(path)
