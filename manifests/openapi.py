"""Reduces an API server's OpenAPI v3 of core/v1 to one structural schema of a pod template.

Everything that is legal in a Pod stays legal in a template, because every field of PodTemplateSpec
is kept with its type. A wrong type is refused. By default, kubectl also refuses unknown fields.
Constraints by which a CustomResourceDefinition would refuse a legal Pod are removed. Descriptions
are removed for size: the CRD contains the template three times, and must fit into the annotation
of `kubectl apply`. Defaults are removed, because the API server sets them on the pods.

Usage: kubectl get --raw /openapi/v3/api/v1 | python -m manifests.openapi
"""

import json
import re
import sys

from api.objects import Raw
from api.schema import POD_TEMPLATE

ROOT = "io.k8s.api.core.v1.PodTemplateSpec"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
FIELDS_V1 = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"

LEFT_OUT = frozenset({"io.k8s.api.core.v1.PodSpec.ephemeralContainers"})
"""Fields that the API server does not accept in a new Pod."""

UNIQUE = frozenset(
    {
        "claims",
        "containers",
        "initContainers",
        "resourceClaims",
        "schedulingGates",
        "topologySpreadConstraints",
        "volumeDevices",
        "volumeMounts",
        "volumes",
    }
)
"""Lists whose keys Pod validation requires to be unique. In other lists (env, ports, hostAliases,
imagePullSecrets) a Pod can repeat a key although OpenAPI calls them maps; they stay atomic here."""

NOT_REQUIRED = {
    "io.k8s.api.core.v1.PreferredSchedulingTerm": {"preference"},
    "io.k8s.api.core.v1.Sysctl": {"value"},
    "io.k8s.api.core.v1.HTTPHeader": {"value"},
    "io.k8s.api.core.v1.ISCSIVolumeSource": {"lun"},
    "io.k8s.api.core.v1.SleepAction": {"seconds"},
}
"""Fields that OpenAPI requires and Pod validation does not: absent means the zero value."""

KEPT = ("type", "format", "x-kubernetes-map-type")
"""Keywords of a schema that are copied unchanged."""

QUANTITY_SCHEMA: Raw = {
    "x-kubernetes-preserve-unknown-fields": True,
    "maxItems": 0,
    "minItems": 1,
    "maxProperties": 0,
    "minProperties": 1,
    "not": {"enum": [True, False]},
}
"""A string or any number (`cpu: 0.5`). A structural schema can only say what a quantity is not."""


def reduce_openapi(document: Raw) -> Raw:
    """The structural schema of a pod template, as this OpenAPI document has it.

    Raises KeyError when the document does not describe core/v1.
    """
    return _Reducer(document["components"]["schemas"]).resolve(ROOT)


class _Reducer:
    """Replaces each reference by its schema. No type in a pod template contains itself."""

    def __init__(self, schemas: dict[str, Raw]) -> None:
        self._schemas = schemas

    def resolve(self, name: str) -> Raw:
        """The reduced schema of a named type."""
        if name == QUANTITY:
            return dict(QUANTITY_SCHEMA)
        if name == INT_OR_STRING:
            return {"x-kubernetes-int-or-string": True}
        if name == FIELDS_V1:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return self._reduce(self._schemas[name], name)

    def _reduce(self, schema: Raw, owner: str) -> Raw:
        reference = _reference(schema)
        if reference:
            return self.resolve(reference)
        reduced = {key: schema[key] for key in KEPT if key in schema}
        if "additionalProperties" in schema:
            reduced["additionalProperties"] = self._map_values(schema, owner)
        if "items" in schema:
            reduced["items"] = self._reduce(schema["items"], owner)
        if "properties" in schema:
            required = set(schema.get("required", ())) - NOT_REQUIRED.get(owner, set())
            reduced["properties"] = self._properties(schema["properties"], owner, required)
            if required:
                reduced["required"] = sorted(required)
        return reduced

    def _map_values(self, schema: Raw, owner: str) -> Raw:
        values = self._reduce(schema["additionalProperties"], owner)
        return _nullable(values)

    def _properties(self, properties: Raw, owner: str, required: set[str]) -> Raw:
        reduced = {}
        for name, raw in sorted(properties.items()):
            if f"{owner}.{name}" in LEFT_OUT:
                continue
            field = self._reduce(raw, owner)
            if raw.get("x-kubernetes-list-type") == "map" and name in UNIQUE:
                field["x-kubernetes-list-type"] = "map"
                field["x-kubernetes-list-map-keys"] = raw["x-kubernetes-list-map-keys"]
            if "enum" in raw:
                field["enum"] = sorted(raw["enum"])
            reduced[name] = field if name in required else _optional(field)
        return reduced


def _reference(schema: Raw) -> str:
    """The name of the type that this schema refers to, or an empty string."""
    for candidate in (schema, *schema.get("allOf", ())):
        if "$ref" in candidate:
            return str(candidate["$ref"]).rsplit("/", 1)[-1]
    return ""


def _optional(field: Raw) -> Raw:
    """The schema of an optional field. In a Pod, null means unset, and so does "" for an enum.

    A pattern replaces the enum, because an enum in a CRD would refuse null.
    """
    if "enum" in field:
        words = "|".join(re.escape(word) for word in field.pop("enum") if word)
        field["pattern"] = f"^({words})?$".replace(r"\-", "-")
    return _nullable(field)


def _nullable(field: Raw) -> Raw:
    return field | {"nullable": True} if "type" in field else field


def main() -> None:
    """Read the OpenAPI document from standard input and rewrite `api/pod_template.json`."""
    document = json.load(sys.stdin)
    snapshot = {"kubernetes": document["info"]["version"], "schema": reduce_openapi(document)}
    POD_TEMPLATE.write_text(json.dumps(snapshot, indent=1) + "\n")


if __name__ == "__main__":
    main()
