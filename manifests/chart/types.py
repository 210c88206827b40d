"""JSON schemas of values: the chart's own, and Kubernetes' own for values that are passed on.

Objects allow no unknown fields: Helm refuses a misspelled field, which the API server would
silently drop.
"""

import json
from typing import Any

from api.objects import Raw
from api.schema import POD_TEMPLATE

_NAME = "[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_LABEL = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY_PATTERN = f"^({_NAME}/)?{_LABEL}$"
SWITCH: Raw = {"type": "boolean"}
TEXT: Raw = {"type": "string"}
NAME_OR_EMPTY: Raw = {"type": "string", "pattern": f"^({_NAME})?$"}
ANNOTATIONS: Raw = {
    "type": "object",
    "additionalProperties": False,
    "patternProperties": {_KEY_PATTERN: TEXT},
}
LABELS: Raw = ANNOTATIONS | {
    "patternProperties": {_KEY_PATTERN: {"type": "string", "pattern": f"^({_LABEL})?$"}}
}
QUANTITY: Raw = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": "^[0-9.]+(m|[kMGTPE]|[KMGTPE]i)?$"},
    ]
}
AMOUNT: Raw = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^([0-9]+%)?$"},
    ]
}
INTERVAL: Raw = {"type": "string", "pattern": "^([0-9]+(ms|s|m|h))*$"}


def whole(minimum: int) -> Raw:
    """A whole number of at least this."""
    return {"type": "integer", "minimum": minimum}


def closed(**properties: Raw) -> Raw:
    """An object with these properties and no other."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


def listed(item: Raw) -> Raw:
    """A list of items with this schema."""
    return {"type": "array", "items": item}


def pod_schema(*path: str) -> Raw:
    """Kubernetes' own schema of a field of a pod's spec; `*` in the path means a list's items."""
    schema = json.loads(POD_TEMPLATE.read_text())["schema"]["properties"]["spec"]
    for name in path:
        schema = schema["items"] if name == "*" else schema["properties"][name]
    return _close(schema)


def probe(**more: Raw) -> Raw:
    """The timings of a probe; the chart sets the request."""
    counts = dict.fromkeys(("periodSeconds", "timeoutSeconds", "failureThreshold"), whole(1))
    return closed(initialDelaySeconds=whole(0), **counts, **more)


def _close(schema: Raw) -> Raw:
    """A structural schema as closed JSON Schema; what allows any field becomes a quantity."""
    if "x-kubernetes-preserve-unknown-fields" in schema:
        return QUANTITY
    if "x-kubernetes-int-or-string" in schema:
        return {"type": ["integer", "string"]}
    kept: dict[str, Any] = {k: schema[k] for k in ("required", "pattern") if k in schema}
    kind = schema["type"]
    kept["type"] = [kind, "null"] if schema.get("nullable") else kind
    if "items" in schema:
        kept["items"] = _close(schema["items"])
    if "additionalProperties" in schema:
        kept["additionalProperties"] = _close(schema["additionalProperties"])
    elif kind == "object":
        fields = schema.get("properties", {})
        kept |= closed(**{name: _close(field) for name, field in fields.items()}) | {
            "type": kept["type"]
        }
    return kept


SELECTOR = pod_schema("topologySpreadConstraints", "*", "labelSelector")
PEER = closed(
    podSelector=SELECTOR,
    namespaceSelector=SELECTOR,
    ipBlock=closed(cidr=TEXT, **{"except": listed(TEXT)}) | {"required": ["cidr"]},
) | {"minProperties": 1}
_PORT = closed(
    port={"type": ["integer", "string"]},
    endPort=whole(1),
    protocol={"enum": ["TCP", "UDP", "SCTP"]},
)
EGRESS = closed(ports=listed(_PORT), to=listed(PEER))
RELABELING = closed(
    sourceLabels=listed(TEXT),
    modulus=whole(1),
    **dict.fromkeys(("separator", "targetLabel", "regex", "replacement", "action"), TEXT),
)
_KEY = closed(name=TEXT, key=TEXT, optional=SWITCH) | {"required": ["key"]}
_KEY_OR_MAP = closed(secret=_KEY, configMap=_KEY)
_FILES = ("caFile", "certFile", "keyFile", "serverName", "minVersion", "maxVersion")
TLS = closed(
    ca=_KEY_OR_MAP,
    cert=_KEY_OR_MAP,
    keySecret=_KEY,
    insecureSkipVerify=SWITCH,
    **dict.fromkeys(_FILES, TEXT),
)
STRATEGY = closed(
    type={"enum": ["RollingUpdate", "Recreate"]},
    rollingUpdate=closed(maxSurge=AMOUNT, maxUnavailable=AMOUNT),
) | {
    "if": {"properties": {"type": {"const": "Recreate"}}, "required": ["type"]},
    "then": {"properties": {"rollingUpdate": False}},
}
OBJECT: Raw = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata"],
    "properties": {
        "apiVersion": {"type": "string", "minLength": 1},
        "kind": {"type": "string", "minLength": 1},
        "metadata": {"type": "object", "required": ["name"]},
    },
}


def named(items: Raw, *taken: str) -> Raw:
    """A list's schema; each `name` in it must be valid in Kubernetes, and none of `taken`."""
    rule = {"properties": {"name": {"pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}}}
    other = {"properties": {"name": {"not": {"enum": list(taken)}}}}
    return items | {"items": items["items"] | {"allOf": [rule, other]}}
