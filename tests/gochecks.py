"""Small Go programs of the tests: other versions of Kubernetes, linked in."""

import hashlib
from pathlib import Path

from localcluster.gobuild import Binary, Pins, ensure_built

SOURCES = Path(__file__).parent / "go"
PROGRAMS = ("crdcheck", "crdcheck125")


def build(name: str) -> Path:
    """A program of tests/go; built anew when its source has changed."""
    source = (SOURCES / name / "main.go").read_bytes()
    pins = Pins(
        title=f"the tests' {name}",
        name=name,
        version=hashlib.sha256(source).hexdigest()[:12],
        folder=SOURCES / name,
        binaries=(Binary(name, "."),),
    )
    return ensure_built(pins) / name
