"""A container's environment, as a kubelet builds it. Pure, except that `client` reads objects.

Later sources override earlier ones; their order is image, API server's address, envFrom, env. A
reference $(NAME) can use only variables that are defined before it, and none of the image's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from localcluster.client.rest import Raw, ServerClient
from localcluster.node.spec.objects import ConfigError, content_of
from localcluster.node.spec.quantity import divide_up

REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class PodFacts:
    """Values that variables can refer to, but that the stored pod perhaps does not have yet."""

    pod_ip: str
    host_ip: str
    allocatable: Raw = field(default_factory=dict)


def build_env(
    pod: Raw, container: Raw, facts: PodFacts, client: ServerClient, base: dict[str, str]
) -> dict[str, str]:
    """`base`, and the container's variables, which override it. Raises ConfigError, ApiError."""
    namespace = pod["metadata"]["namespace"]
    env = dict(base)
    for source in container.get("envFrom") or []:
        kind = "configMap" if "configMapRef" in source else "secret"
        found = content_of(client, kind, namespace, source[f"{kind}Ref"])
        prefix = source.get("prefix", "")
        env |= {prefix + key: _text(value) for key, value in found.items() if "=" not in key}
    for entry in container.get("env") or []:
        value = _value(entry, pod, container, facts, client, env)
        if value is not None:
            env[entry["name"]] = value
    return env


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def _value(
    entry: Raw, pod: Raw, container: Raw, facts: PodFacts, client: ServerClient, env: dict[str, str]
) -> str | None:
    """The entry's value; None leaves the variable unset."""
    source = entry.get("valueFrom")
    if source is None:
        return expand(entry.get("value", ""), env)
    if reference := source.get("fieldRef"):
        return field_value(pod, reference["fieldPath"], facts)
    if reference := source.get("resourceFieldRef"):
        return str(resource_value(pod, container, reference, facts))
    for kind, title in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if reference := source.get(f"{kind}KeyRef"):
            namespace, key = pod["metadata"]["namespace"], reference["key"]
            found = content_of(client, kind, namespace, reference)
            if key in found or reference.get("optional"):
                return _text(found[key]) if key in found else None
            name = f"{namespace}/{reference['name']}"
            raise ConfigError(f"couldn't find key {key} in {title} {name}")
    raise ConfigError(f"unsupported source of the variable {entry['name']}: {sorted(source)}")


def field_value(pod: Raw, path: str, facts: PodFacts) -> str:
    """The downward API's value for a field path. Raises ConfigError for an unknown path."""
    metadata, spec = pod["metadata"], pod["spec"]
    known = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "metadata.labels": _as_lines(metadata.get("labels") or {}),
        "metadata.annotations": _as_lines(metadata.get("annotations") or {}),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.podIP": facts.pod_ip,
        "status.podIPs": facts.pod_ip,
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
    }
    if path in known:
        return str(known[path])
    for kind in ("labels", "annotations"):
        start = f"metadata.{kind}['"
        if path.startswith(start) and path.endswith("']"):
            return str((metadata.get(kind) or {}).get(path[len(start) : -2], ""))
    raise ConfigError(f"unsupported fieldPath: {path}")


def _as_lines(pairs: dict[str, str]) -> str:
    return "\n".join(f'{key}="{value}"' for key, value in sorted(pairs.items()))


def resource_value(pod: Raw, container: Raw, reference: Raw, facts: PodFacts) -> int:
    """A container's request (0 if unset) or limit (if unset, what the node can allocate)."""
    if name := reference.get("containerName"):
        spec = pod["spec"]
        everything = spec["containers"] + (spec.get("initContainers") or [])
        container = next(each for each in everything if each["name"] == name)
    section, resource = reference["resource"].split(".", 1)
    values = (container.get("resources") or {}).get(section) or {}
    default = facts.allocatable.get(resource, "0") if section == "limits" else "0"
    return divide_up(values.get(resource) or default, reference.get("divisor") or "1")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace $(NAME) by the variable's value, and $$ by $; an unknown $(NAME) stays."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return REFERENCE.sub(replace, text)
