"""What becomes of an OpenAPI schema on its way into the CRD."""

from typing import Any

import pytest

from manifests.openapi import QUANTITY_SCHEMA, ROOT, reduce_openapi

Raw = dict[str, Any]
POD = "io.k8s.api.core.v1.PodSpec"
ANY_STRING = {"type": "string", "nullable": True}


def reduced(field: Raw, name: str = "field", required: list[str] | None = None) -> Raw:
    """The reduced schema of a field of a PodTemplateSpec that has only this one."""
    schemas = {
        ROOT: {"type": "object", "properties": {name: field}, "required": required or []},
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"format": "int-or-string"},
        "a.Named": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    schema = reduce_openapi({"components": {"schemas": schemas}})
    result: Raw = schema["properties"][name]
    return result


def ref(name: str) -> Raw:
    """A reference as an API server writes it."""
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}], "default": {}}


CASES: dict[str, tuple[Raw, Raw]] = {
    "description-and-default-go": (
        {"type": "string", "description": "words", "default": ""},
        ANY_STRING,
    ),
    "format-stays": (
        {"type": "integer", "format": "int32"},
        {"type": "integer", "format": "int32", "nullable": True},
    ),
    "reference": (
        ref("a.Named"),
        {"type": "object", "properties": {"a": ANY_STRING}, "nullable": True},
    ),
    "quantity": (ref("io.k8s.apimachinery.pkg.api.resource.Quantity"), QUANTITY_SCHEMA),
    "int-or-string": (
        ref("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        {"x-kubernetes-int-or-string": True},
    ),
    "map": (
        {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
        {"type": "object", "additionalProperties": ANY_STRING, "nullable": True},
    ),
    "optional-enum": (
        {"type": "string", "enum": ["SIGRTMIN+1", "A-B"]},
        {"type": "string", "pattern": r"^(A-B|SIGRTMIN\+1)?$", "nullable": True},
    ),
    "list-of-any-key": (
        {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        {"type": "array", "items": {"type": "string"}, "nullable": True},
    ),
}


@pytest.mark.parametrize(("raw", "expected"), CASES.values(), ids=CASES)
def test_reduces(raw: Raw, expected: Raw) -> None:
    assert reduced(raw) == expected


def test_required_field_keeps_its_enum_and_is_never_null() -> None:
    raw = {"type": "string", "enum": ["B", "A"]}
    assert reduced(raw, required=["field"]) == {"type": "string", "enum": ["A", "B"]}


def test_unique_list_stays_a_map() -> None:
    raw = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    kept = reduced(raw, name="containers")
    assert kept["x-kubernetes-list-type"] == "map"
    assert kept["x-kubernetes-list-map-keys"] == ["name"]


def test_what_no_pod_may_set_is_left_out() -> None:
    schemas = {
        ROOT: {"type": "object", "properties": {"spec": ref(POD)}},
        POD: {"type": "object", "properties": {"ephemeralContainers": {"type": "array"}}},
    }
    schema = reduce_openapi({"components": {"schemas": schemas}})
    assert schema["properties"]["spec"]["properties"] == {}


def test_another_document_is_an_error() -> None:
    with pytest.raises(KeyError):
        reduce_openapi({"components": {"schemas": {}}})
