"""Pods that run until the test lets them end: they wait for a file on their host."""

from pathlib import Path

from api.objects import Raw
from tests.live.lab import shell

_PLACE = "/gates"


def gated(name: str = "gate") -> Raw:
    """A pod template that runs until this gate is opened."""
    template = shell(f"until [ -e {_PLACE}/{name} ]; do sleep 0.2; done")
    folder = {"path": _PLACE, "type": "DirectoryOrCreate"}
    template["spec"]["volumes"] = [{"name": "gates", "hostPath": folder}]
    mount = {"name": "gates", "mountPath": _PLACE}
    template["spec"]["containers"][0]["volumeMounts"] = [mount]
    return template


def open_gate(host: Path, name: str = "gate") -> None:
    """Let the pods behind it end; `host` is what pods see as the root of their host."""
    (host / _PLACE.strip("/") / name).touch()
