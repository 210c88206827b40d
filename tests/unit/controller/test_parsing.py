"""JSON of any depth: what is too deep becomes a string, and nothing else changes."""

import json

import pytest

from kube.errors import Transient
from kube.parsing import CUT, MAX_JSON_DEPTH, cut_deep, parse_json

DEEPEST = 9_990


def nested(depth: int, inner: str = "1") -> str:
    """`depth` maps, one in the other."""
    return '{"a":' * depth + inner + "}" * depth


def depth_of(value: object) -> int:
    """How many maps are one in the other."""
    depth = 0
    while isinstance(value, dict):
        value, depth = value["a"], depth + 1
    return depth


@pytest.mark.parametrize("depth", [1_100, 5_000, DEEPEST])
def test_what_is_too_deep_is_cut(depth):
    assert depth_of(parse_json(nested(depth).encode())) == MAX_JSON_DEPTH


def test_the_rest_stays_as_it_is():
    around = {"b": ["[{", '\\"]}', "\\\\", {"c": [[], {}]}], "ü]": 1.5, "": None}
    text = json.dumps(around | {"a": ["DEEP", 1, "DEEP"], "z": "[" * 2_000})
    read = parse_json(text.replace('"DEEP"', nested(DEEPEST)).encode())
    assert {key: read[key] for key in around} == around
    assert read["z"] == "[" * 2_000
    assert [depth_of(each) for each in read["a"]] == [MAX_JSON_DEPTH - 2, 0, MAX_JSON_DEPTH - 2]


def test_what_is_cut_reads_as_such():
    assert (
        cut_deep(nested(MAX_JSON_DEPTH + 1).encode())
        == nested(MAX_JSON_DEPTH, CUT.decode()).encode()
    )


@pytest.mark.parametrize("text", [nested(DEEPEST)[:-1], nested(DEEPEST) + "x", "[" * DEEPEST])
def test_what_is_no_json_is_still_told(text):
    with pytest.raises(Transient):
        parse_json(text.encode())
