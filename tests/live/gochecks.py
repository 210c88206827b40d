"""Small Go programs of the tests: other versions of Kubernetes, and kstatus, linked in."""

from pathlib import Path

from localcluster.provision.gobuild import Pins, ensure_built

SOURCES = Path(__file__).parent / "go"
PROGRAMS = ("crdcheck", "crdcheck125", "kstatus")


def build(name: str) -> Path:
    """A program of tests/live/go; built anew when its source has changed."""
    pins = Pins(
        title=f"the tests' {name}",
        name=name,
        version="local",
        folder=SOURCES / name,
        binaries={name: "."},
    )
    return ensure_built(pins) / name
