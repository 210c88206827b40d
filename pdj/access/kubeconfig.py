"""Reads the API server and the user from kubeconfig files, as kubectl does.

`$KUBECONFIG` can name several files. The first file that has an entry wins, and a relative path
begins at the folder of its file. In a pod without a kubeconfig, the pod's ServiceAccount is used.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.objects import Raw
from kube.bounds import read_kubeconfig
from pdj.errors import Problem

DEFAULT = Path("~/.kube/config")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_Sections = dict[str, dict[str, Raw]]
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}

INSECURE = "insecure-skip-tls-verify"
"""A boolean field of a cluster. Text is refused: even "false" would turn verification off."""


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster, user and namespace of a context, or of the pod that this runs in."""

    cluster: Raw
    user: Raw
    namespace: str
    context: str = ""
    is_inside: bool = False


def load_target(kubeconfig: str | None, context: str | None) -> Target:
    """The target of a context, by default the current one, or of this pod. Raises Problem."""
    paths = _paths(kubeconfig)
    merged: _Sections = {name: {} for name in _SECTIONS}
    current = ""
    for path in paths:
        if kubeconfig or path.exists():
            own = _merge(merged, path)
            current = current or own
    name = context or current
    if not name:
        return _inside(paths)
    chosen = _find(merged, "contexts", name, "context")
    return Target(
        cluster=_find(merged, "clusters", str(chosen.get("cluster") or ""), "cluster"),
        user=_find(merged, "users", str(chosen["user"]), "user") if chosen.get("user") else {},
        namespace=str(chosen.get("namespace") or "default"),
        context=name,
    )


def _paths(kubeconfig: str | None) -> list[Path]:
    if kubeconfig:
        return [Path(kubeconfig)]
    listed = [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    return listed or [DEFAULT.expanduser()]


def _inside(paths: list[Path]) -> Target:
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not host:
        named = ", ".join(map(str, paths))
        is_there = any(path.exists() for path in paths)
        why = f"{named} names no current context" if is_there else f"there is no file {named}"
        raise Problem(
            f"no cluster: {why}",
            "choose a cluster with --kubeconfig or --context",
            "choose a cluster with Client(kubeconfig=...)",
        )
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    authority = f"[{host}]" if ":" in host else host
    cluster = {
        "server": f"https://{authority}:{port}",
        "certificate-authority": str(SERVICE_ACCOUNT / "ca.crt"),
    }
    user = {"tokenFile": str(SERVICE_ACCOUNT / "token")}
    try:
        namespace = (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except (OSError, ValueError):
        namespace = "default"
    return Target(cluster, user, namespace, is_inside=True)


def _merge(merged: _Sections, path: Path) -> str:
    """Add the entries of a file that no file before it has; returns its current context."""
    raw = _read(path)
    for section, key in _SECTIONS.items():
        entries = raw.get(section) or ()
        if not isinstance(entries, list | tuple):
            raise Problem(f"the kubeconfig {path}: {section} is not a list")
        for entry in entries:
            value = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(value, dict):
                raise Problem(f"the kubeconfig {path}: an entry of {section} has no {key}")
            if not isinstance(value.get(INSECURE) or False, bool):
                raise Problem(f"the kubeconfig {path}: {INSECURE} is neither true nor false")
            found = _with_absolute_paths(value, path.parent)
            merged[section].setdefault(str(entry.get("name")), found)
    return str(raw.get("current-context") or "")


def _read(path: Path) -> Raw:
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        raw: Any = yaml.load(read_kubeconfig(path, loader), loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise Problem(f"cannot read the kubeconfig {path}: {said}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise Problem(f"cannot read the kubeconfig {path}: it is not a mapping")
    return raw


def _with_absolute_paths(value: Raw, folder: Path) -> Raw:
    """A copy with absolute paths. A login plugin named without a slash is left to the PATH."""
    found = value | {key: str(folder / str(value[key])) for key in _PATHS if value.get(key)}
    plugin = value.get("exec")
    if isinstance(plugin, dict) and "/" in str(plugin.get("command")):
        found["exec"] = {**plugin, "command": str(folder.absolute() / str(plugin["command"]))}
    return found


def _find(merged: _Sections, section: str, name: str, what: str) -> Raw:
    found = merged[section].get(name)
    if found is None:
        known = ", ".join(sorted(merged[section])) or "none"
        raise Problem(f"the kubeconfig has no {what} {name!r} (it has: {known})")
    return found
