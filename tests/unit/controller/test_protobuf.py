"""Frames, events and lists. tests/cluster/operator/test_protobuf.py shows that they read as JSON.

The bytes are put together here from the numbers in generated.proto.
"""

import pytest

from controller.client.protobuf import MAX_FRAME_BYTES, decode, decode_event, split_frames
from kube.errors import Transient
from kube.parsing import Unreadable


def varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def an_answer(kind: str, obj: bytes) -> bytes:
    return b"k8s\0" + field(1, field(1, "v1") + field(2, kind)) + field(2, obj)


def an_event(type_: str, kind: str, obj: bytes) -> bytes:
    return field(1, type_) + field(2, field(1, an_answer(kind, obj)))


BOOKMARK = an_event("BOOKMARK", "Pod", field(1, field(6, "42")) + field(2, b"") + field(3, b""))
LIMITS = {"memory": "2Gi", "cpu": "1"}
FRAMED = b"".join(len(data).to_bytes(4, "big") + data for data in (b"one", b"", BOOKMARK))


@pytest.mark.parametrize("size", [1, 3, 5, len(FRAMED)])
def test_yields_frames_however_they_are_cut(size):
    chunks = [FRAMED[start : start + size] for start in range(0, len(FRAMED), size)]
    assert list(split_frames(chunks)) == [b"one", b"", BOOKMARK]


def test_a_frame_beyond_all_bounds_is_refused():
    with pytest.raises(Transient, match="no valid frames"):
        list(split_frames([(MAX_FRAME_BYTES + 1).to_bytes(4, "big")]))


def test_a_bookmark_has_its_version():
    event = decode_event(BOOKMARK)
    assert (event["type"], event["object"]["metadata"]) == ("BOOKMARK", {"resourceVersion": "42"})


def test_an_error_is_a_status():
    causes = field(4, field(1, "ResourceVersionTooLarge") + field(2, "too large"))
    status = field(3, "too old") + field(4, "Expired") + field(5, causes + field(5, 7))
    event = decode_event(an_event("ERROR", "Status", status + field(6, 410)))
    assert event == {
        "type": "ERROR",
        "object": {
            "kind": "Status",
            "message": "too old",
            "reason": "Expired",
            "code": 410,
            "details": {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "too large"}],
                "retryAfterSeconds": 7,
            },
        },
    }


def test_limits_of_a_container_are_texts():
    limits = [field(1, field(1, key) + field(2, field(1, value))) for key, value in LIMITS.items()]
    status = field(1, "paddle") + field(11, b"".join(limits) + field(2, b""))
    pod = decode(an_answer("Pod", field(3, field(8, status) + field(8, field(1, "other")))))
    first, second = pod["status"]["containerStatuses"]
    assert first["resources"] == {"limits": LIMITS}
    assert "resources" not in second


def a_deleted_pod(time: bytes) -> dict:
    return decode(an_answer("Pod", field(1, field(1, "a") + field(9, time))))["metadata"]


@pytest.mark.parametrize(
    ("time", "told"),
    [
        (field(1, 0), "1970-01-01T00:00:00Z"),
        (varint(1 << 3) + varint(2**64 - 6_000_000_000), "1779-11-13T13:20:00Z"),
        (field(1, 2**62), "9999-12-31T23:59:59Z"),
    ],
    ids=["the epoch", "before the epoch", "past the calendar"],
)
def test_any_time_is_told(time, told):
    assert a_deleted_pod(time)["deletionTimestamp"] == told


def test_what_is_no_text_is_mended():
    broken = b"caf\xe9"
    pod = decode(an_answer("Pod", field(3, field(3, broken))))
    config_map = decode(an_answer("ConfigMap", field(2, field(1, "key") + field(2, broken))))
    assert pod["status"]["message"] == config_map["data"]["key"] == "caf\ufffd"


NAMED = field(1, field(1, "a") + field(3, "ns") + field(6, "43"))
UNREADABLE = NAMED + field(3, b"\x0a\xff")
"""A pod whose status is cut off."""


def test_an_object_that_cannot_be_read_still_tells_its_place_and_version():
    event = decode_event(an_event("MODIFIED", "Pod", UNREADABLE))
    metadata = {"name": "a", "namespace": "ns", "resourceVersion": "43"}
    assert event == {"type": "MODIFIED", "object": {"metadata": metadata}}
    assert isinstance(event["object"], Unreadable)


def test_an_item_that_cannot_be_read_does_not_hide_the_others():
    page = field(1, field(2, "44")) + field(2, UNREADABLE) + field(2, NAMED)
    listed = decode(an_answer("PodList", page))
    assert listed["metadata"] == {"resourceVersion": "44"}
    assert [isinstance(item, Unreadable) for item in listed["items"]] == [True, False]
    assert listed["items"][1]["metadata"]["name"] == "a"


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"\xff", an_answer("PodList", b"\x0a\xff"), an_answer("NodeList", b"")],
    ids=["empty", "JSON", "garbage", "garbage within", "another kind"],
)
def test_anything_else_is_no_answer(data):
    with pytest.raises(Transient):
        decode(data)


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xff\xff\xff", an_event("ADDED", "Pod", b"\x0a\xff"), an_event("ADDED", "Node", b"")],
    ids=["empty", "garbage", "garbage within", "another kind"],
)
def test_anything_else_breaks_the_watch(frame):
    with pytest.raises(Transient):
        decode_event(frame)
