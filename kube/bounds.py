"""Limits on input: a file's size, and how deeply YAML is nested."""

from pathlib import Path
from typing import Any

MAX_YAML_DEPTH = 100
MAX_KUBECONFIG_BYTES = 16 << 20
MAX_CREDENTIAL_BYTES = 1 << 20
"""The largest token, certificate, key or file of authorities."""


def refuse_deep_yaml(text: str | bytes, loader: Any) -> None:
    """Raise ValueError on YAML so deep that it could overflow libyaml's stack."""
    import yaml  # takes time to import, and JSON needs none

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_YAML_DEPTH:
            raise ValueError(f"nested deeper than {MAX_YAML_DEPTH} levels")


def read_kubeconfig(path: Path, loader: Any) -> bytes:
    """The YAML of a kubeconfig. Raises OSError, YAMLError, and ValueError beyond the limits."""
    data = read_bounded(path, MAX_KUBECONFIG_BYTES)
    refuse_deep_yaml(data, loader)
    return data


def read_bounded(path: str | Path, most: int = MAX_CREDENTIAL_BYTES) -> bytes:
    """Read a file, which can be endless. Raises ValueError if it has more than `most` bytes."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"more than {most >> 20} MiB")
    return data
