"""Limits on input: a file's size, and how deeply YAML is nested."""

from pathlib import Path
from typing import Any


def refuse_deep_yaml(text: str | bytes, loader: Any, most: int) -> None:
    """Raise ValueError on YAML deeper than `most` levels, which could overflow libyaml's stack."""
    import yaml  # takes time to import, and JSON needs none

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > most:
            raise ValueError(f"nested deeper than {most} levels")


def read_bounded(path: str | Path, most: int) -> bytes:
    """Read a file, which can be endless. Raises ValueError if it has more than `most` bytes."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"more than {most >> 20} MiB")
    return data
