"""The CRD of PaddleJob in apiextensions.k8s.io/v1beta1, for Kubernetes 1.15 to 1.21.

The schema has no feature of later versions: no CEL rules, no defaults, no list types of server-side
apply. The operator itself validates jobs and fills in the defaults.
"""

from api.crd import SCALE, build_crd, columns
from api.objects import Raw
from api.rules import NAME_PATTERN

LATER = frozenset(
    {
        "default",
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
    }
)


def build_v1beta1_crd() -> Raw:
    """The CRD in v1beta1. Unknown fields are pruned, as in v1."""
    crd = build_crd()
    version = crd["spec"]["versions"][0]
    schema = _without_later(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"]["properties"]["name"]["pattern"] = NAME_PATTERN
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": crd["kind"],
        "metadata": crd["metadata"],
        "spec": {
            "group": crd["spec"]["group"],
            "names": crd["spec"]["names"],
            "scope": crd["spec"]["scope"],
            "preserveUnknownFields": False,
            "version": version["name"],
            "versions": [{"name": version["name"], "served": True, "storage": True}],
            "additionalPrinterColumns": columns("JSONPath"),
            "subresources": {"status": {}, "scale": dict(SCALE)},
            "validation": {"openAPIV3Schema": schema},
        },
    }


def _without_later(schema: Raw) -> Raw:
    """The schema without keywords of later versions. Properties with such a name stay."""
    kept = {key: value for key, value in schema.items() if key not in LATER}
    if "properties" in kept:
        fields = {n: _without_later(s) for n, s in kept["properties"].items()}
        if any(_is_mistaken(field) for field in fields.values()):
            kept["x-kubernetes-preserve-unknown-fields"] = True
        kept["properties"] = {n: s for n, s in fields.items() if not _is_mistaken(s)}
    for nested in ("items", "additionalProperties"):
        if isinstance(kept.get(nested), dict):
            kept[nested] = _without_later(kept[nested])
    return kept


def _is_mistaken(schema: Raw) -> bool:
    """Whether old API servers mistake a value of this field for a schema, because it has `items`.

    Then they require a `type` beside `items`, and refuse a configMap volume. They check only fields
    that the schema describes, so the schema leaves such a field out.
    """
    return "items" in schema.get("properties", {})
