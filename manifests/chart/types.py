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
NAMESPACE_PATTERN = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
SWITCH: Raw = {"type": "boolean"}
TEXT: Raw = {"type": "string"}
NAME_OR_EMPTY: Raw = {"type": "string", "pattern": f"^({_NAME})?$"}
NAMESPACES: Raw = {
    "type": "array",
    "uniqueItems": True,
    "items": {"type": "string", "pattern": NAMESPACE_PATTERN},
}
NAMESPACE_OR_EMPTY: Raw = {"type": "string", "pattern": f"{NAMESPACE_PATTERN}|^$"}
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


def _either_case(*names: str) -> list[str]:
    return [*names, *(name.lower() for name in names)]


_OF_A_LABEL = _either_case("Replace", "HashMod", "Lowercase", "Uppercase", "KeepEqual", "DropEqual")
_OF_ALL = _either_case("Keep", "Drop", "LabelMap", "LabelDrop", "LabelKeep")
RELABELING = closed(
    sourceLabels=listed(TEXT),
    modulus=whole(1),
    action={"enum": [*_OF_A_LABEL, *_OF_ALL]},
    **dict.fromkeys(("separator", "targetLabel", "regex", "replacement"), TEXT),
) | {
    "if": {"properties": {"action": {"enum": _OF_ALL}}, "required": ["action"]},
    "else": {
        "properties": {"targetLabel": {"minLength": 1}},
        "required": ["targetLabel"],
        "if": {"properties": {"action": {"enum": _either_case("HashMod")}}, "required": ["action"]},
        "then": {"required": ["modulus"]},
    },
}
"""What the Prometheus operator takes: the actions that write a label need its name."""
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
_ROLLING = ("maxSurge", "maxUnavailable")
STRATEGY = closed(
    type={"enum": ["RollingUpdate", "Recreate"]},
    rollingUpdate=closed(**dict.fromkeys(_ROLLING, AMOUNT)),
) | {
    "if": {"properties": {"type": {"const": "Recreate"}}, "required": ["type"]},
    "then": {"properties": {"rollingUpdate": False}},
    "not": {
        "properties": {
            "rollingUpdate": {
                "properties": {each: {"enum": [0, "0%"]} for each in _ROLLING},
                "required": [*_ROLLING],
            }
        },
        "required": ["rollingUpdate"],
    },
}
"""An update needs room for one pod more, or for one less."""
AMOUNTS = closed(
    requests={"type": "object", "additionalProperties": QUANTITY},
    limits={"type": "object", "additionalProperties": QUANTITY},
    claims=pod_schema("containers", "*", "resources", "claims"),
)
_TEXTS = {"type": "array", "items": TEXT}
RIGHTS = listed(
    closed(**dict.fromkeys(("apiGroups", "resources", "resourceNames", "verbs"), _TEXTS))
    | {"required": ["apiGroups", "resources", "verbs"]}
)
RULE = closed(
    **dict.fromkeys(("alert", "record", "expr", "for", "keep_firing_for"), TEXT),
    labels={"type": "object", "additionalProperties": TEXT},
    annotations={"type": "object", "additionalProperties": TEXT},
) | {"required": ["expr"], "oneOf": [{"required": ["alert"]}, {"required": ["record"]}]}
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


def containers(field: str, *taken: str) -> Raw:
    """The schema of containers, which need an image: nothing else would give them one."""
    items = pod_schema(field)
    items["items"]["properties"]["image"] = {"type": "string", "pattern": "^\\S+$"}
    items["items"]["required"] = ["name", "image"]
    return named(items, *taken)
