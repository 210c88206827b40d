"""Decodes the fields that we keep of Pods, Services and ConfigMaps from Kubernetes' protobuf.

The API server encodes a change once for all watchers of one encoding, and the scheduler watches in
protobuf. If we watched in JSON, it would encode everything again: 12 changes for each start of four
pods. A list of thousands also takes little more than half the time.

Names, nesting and values of the fields are the same as in JSON. `trim` decides which fields are
kept. The numbers of fields are from generated.proto in k8s.io/api/core/v1 and k8s.io/apimachinery
(pkg/apis/meta/v1, pkg/runtime). Fields that are not listed here are skipped. Thread-safe.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from api.objects import Raw, format_time
from kube.errors import Transient
from kube.parsing import Unreadable

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
ANSWERS = f"{MEDIA_TYPE},application/json"
EVENTS = f"{MEDIA_TYPE};stream=watch,application/json;stream=watch"
"""The formats accepted for lists (ANSWERS) and watches. Some proxies turn answers into JSON."""
KINDS = frozenset({"Pod", "Service", "ConfigMap"})
"""The kinds that can be read here, also in lists and watch events. A Status can be read too."""
MAX_FRAME_BYTES = 64 << 20
_LENGTH_BYTES = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_MAGIC = b"k8s\x00"
_PACKAGE = "paddlejob"
_STATUS, _LIST = "Status", "List"
_MAP = "map"
"""The type of a map from string to string."""
_QUANTITIES = "quantities"
"""The type of a map from string to Quantity, which is a string in JSON."""

_Table = dict[str, tuple[int, str]]


def _strings(**numbers: int) -> _Table:
    return {field: (number, "string") for field, number in numbers.items()}


_MESSAGES: dict[str, _Table] = {
    "WatchEvent": {"type": (1, "string"), "object": (2, "RawExtension")},
    "RawExtension": {"raw": (1, "bytes")},
    "Unknown": {"typeMeta": (1, "TypeMeta"), "raw": (2, "bytes")},
    "TypeMeta": _strings(apiVersion=1, kind=2),
    "Status": {
        **_strings(message=3, reason=4),
        "details": (5, "StatusDetails"),
        "code": (6, "int32"),
    },
    "StatusDetails": {"causes": (4, "StatusCause*"), "retryAfterSeconds": (5, "int32")},
    "StatusCause": _strings(reason=1, message=2, field=3),
    "List": {"metadata": (1, "ListMeta"), "items": (2, "bytes*")},
    "Bare": {"metadata": (1, "BareMeta")},
    "BareMeta": _strings(name=1, namespace=3, resourceVersion=6),
    "ListMeta": {"resourceVersion": (2, "string"), "continue": (3, "string")},
    "Service": {"metadata": (1, "ObjectMeta")},
    "ConfigMap": {"metadata": (1, "ObjectMeta"), "data": (2, "map")},
    "Pod": {"metadata": (1, "ObjectMeta"), "spec": (2, "PodSpec"), "status": (3, "PodStatus")},
    "ObjectMeta": {
        **_strings(name=1, namespace=3, uid=5, resourceVersion=6),
        "generation": (7, "int64"),
        "creationTimestamp": (8, "Time"),
        "deletionTimestamp": (9, "Time"),
        "deletionGracePeriodSeconds": (10, "int64?"),
        "labels": (11, "map"),
        "annotations": (12, "map"),
        "ownerReferences": (13, "OwnerReference*"),
        "finalizers": (14, "string*"),
    },
    "OwnerReference": {
        **_strings(kind=1, name=3, uid=4, apiVersion=5),
        "controller": (6, "bool?"),
        "blockOwnerDeletion": (7, "bool?"),
    },
    "Time": {"seconds": (1, "int64")},
    "PodSpec": _strings(restartPolicy=3, nodeName=10),
    "PodStatus": {
        **_strings(phase=1, message=3, reason=4, hostIP=5, podIP=6),
        "conditions": (2, "PodCondition*"),
        "startTime": (7, "Time"),
        "containerStatuses": (8, "ContainerStatus*"),
        "initContainerStatuses": (10, "ContainerStatus*"),
    },
    "PodCondition": {
        **_strings(type=1, status=2, reason=5, message=6),
        "lastTransitionTime": (4, "Time"),
    },
    "ContainerStatus": {
        "name": (1, "string"),
        "state": (2, "ContainerState"),
        "lastState": (3, "ContainerState"),
        "ready": (4, "bool!"),
        "restartCount": (5, "int32!"),
        "started": (9, "bool?"),
        "resources": (11, "ResourceRequirements?"),
    },
    "ResourceRequirements": {"limits": (1, "quantities")},
    "Quantity": _strings(string=1),
    "ContainerState": {
        "waiting": (1, "ContainerStateWaiting?"),
        "running": (2, "ContainerStateRunning?"),
        "terminated": (3, "ContainerStateTerminated?"),
    },
    "ContainerStateWaiting": _strings(reason=1, message=2),
    "ContainerStateRunning": {"startedAt": (1, "Time")},
    "ContainerStateTerminated": {
        "exitCode": (1, "int32!"),
        "signal": (2, "int32"),
        **_strings(reason=3, message=4),
        "startedAt": (5, "Time"),
        "finishedAt": (6, "Time"),
    },
}
"""Message -> field -> (number, type). A `*` marks a list. Kubernetes sends empty values too. JSON
omits them, except if the type has a `!` (never omitted) or a `?` (omitted only if not set)."""


def split_frames(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The contents of a stream's frames; each has its length in four bytes before it."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        while len(rest) >= _LENGTH_BYTES:
            size = int.from_bytes(rest[:_LENGTH_BYTES], "big")
            if size > MAX_FRAME_BYTES:
                raise Transient(f"the stream has no valid frames: one has {size} bytes")
            end = _LENGTH_BYTES + size
            if len(rest) < end:
                break
            yield bytes(rest[_LENGTH_BYTES:end])
            del rest[:end]


def decode_event(frame: bytes) -> Raw:
    """A watch event as it would be in JSON. Raises Transient if it cannot be read here."""
    try:
        event = _parse("WatchEvent", frame)
    except DecodeError as error:
        raise Transient(f"the watch event is not protobuf: {frame[:100]!r}") from error
    return {"type": event.type, "object": decode(event.object.raw)}


def decode(data: bytes) -> Raw:
    """An object or a list as it would be in JSON. Raises Transient if it cannot be read here.

    If only the name and version of an object can be read, returns an Unreadable for it.
    """
    try:
        unknown = _parse("Unknown", data.removeprefix(_MAGIC))
        kind = unknown.typeMeta.kind
        if kind not in _ANSWERED:
            raise Transient(f"the answer holds a {kind or 'nothing'}, which nobody asked for")
        obj = _decode_kind(kind, unknown.raw)
        if kind == _STATUS:
            obj["kind"] = kind  # callers recognise a Status by it
    except (DecodeError, ValueError) as error:
        raise Transient(f"the answer is not protobuf: {data[:100]!r}") from error
    return obj


def _decode_kind(kind: str, data: bytes) -> Raw:
    """Decode lists item by item, so that an unreadable item does not hide the others."""
    if kind.endswith(_LIST):
        page = _parse(_LIST, data)
        items = [_decode_kind(kind.removesuffix(_LIST), item) for item in page.items]
        return {"metadata": _READERS["ListMeta"](page.metadata), "items": items}
    try:
        return _read(kind, data)
    except (DecodeError, ValueError):
        if kind == _STATUS:
            raise
        return Unreadable(_read("Bare", data))


def _read(kind: str, data: bytes) -> Raw:
    obj: Raw = _READERS[kind](_parse(kind, data))
    return obj


def _parse(name: str, data: bytes) -> Any:
    message = _CLASSES[name]()
    message.ParseFromString(data)
    return message


def _build_classes() -> dict[str, type[Message]]:
    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE)
    for name, table in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, text) in table.items():
            _add_field(message, field, number, text)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


def _add_field(message: descriptor_pb2.DescriptorProto, name: str, number: int, text: str) -> None:
    kinds = descriptor_pb2.FieldDescriptorProto
    kind = text.rstrip("*!?")
    field = message.field.add(name=name, number=number)
    is_map = kind in (_MAP, _QUANTITIES)
    is_list = is_map or text.endswith("*")
    field.label = kinds.LABEL_REPEATED if is_list else kinds.LABEL_OPTIONAL
    if is_map:
        entry = _add_map(message, name, "string" if kind == _MAP else "Quantity")
        field.type_name = f".{_PACKAGE}.{message.name}.{entry}"
    elif kind in _MESSAGES:
        field.type_name = f".{_PACKAGE}.{kind}"
    is_message = is_map or kind in _MESSAGES
    field.type = kinds.TYPE_MESSAGE if is_message else kinds.Type.Value(f"TYPE_{kind.upper()}")


def _add_map(message: descriptor_pb2.DescriptorProto, name: str, value: str) -> str:
    """Add the message type of a map's entries; protobuf requires a name made from the field's."""
    entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
    entry.options.map_entry = True
    _add_field(entry, "key", 1, "string")
    _add_field(entry, "value", 2, value)
    return entry.name


_Reader = Callable[[Any], Any]


def _read_message(name: str) -> _Reader:
    """A function that makes a dict of a message, with the same fields as in JSON."""
    fields = [
        (field, _value_reader(text), "?" in text, "!" in text or "?" in text)
        for field, (_, text) in _MESSAGES[name].items()
    ]

    def read(message: Any) -> Raw:
        kept: Raw = {}
        for field, reader, may_lack, is_kept in fields:
            if may_lack and not message.HasField(field):
                continue
            value = getattr(message, field)
            if reader is not None:
                value = reader(value)
            elif type(value) is bytes:
                value = _mend(value)
            if value or is_kept:
                kept[field] = value
        return kept

    return read


def _value_reader(text: str) -> _Reader | None:
    kind = text.rstrip("*!?")
    if kind == "Time":
        return lambda time: _format_seconds(time.seconds) if time.HasField("seconds") else ""
    if kind == _MAP:
        return _read_map
    if kind == _QUANTITIES:
        return lambda values: _read_map({key: each.string for key, each in values.items()})
    if text == "string*":
        return lambda values: [_mend(each) for each in values]
    if kind not in _MESSAGES:
        return None
    read = _read_message(kind)
    return (lambda messages: [read(each) for each in messages]) if text.endswith("*") else read


def _read_map(values: Any) -> dict[str, str]:
    kept = dict(values)
    return {k: _mend(v) for k, v in kept.items()} if bytes in map(type, kept.values()) else kept


def _mend(value: str | bytes) -> str:
    """Replace invalid UTF-8 as the API server does in JSON. Protobuf returns it as bytes."""
    return value if isinstance(value, str) else value.decode(errors="replace")


@lru_cache(maxsize=4096)
def _format_seconds(seconds: int) -> str:
    """A time as text, in the years 1 to 9999. Cached, because a job's pods share most times."""
    within = min(max(seconds, _FIRST_SECOND), _LAST_SECOND)
    return format_time(_EPOCH + timedelta(seconds=within))


_ANSWERED = frozenset({_STATUS, *KINDS, *(kind + _LIST for kind in KINDS)})
_CLASSES = _build_classes()
_READERS = {name: _read_message(name) for name in (_STATUS, *KINDS, "Bare", "ListMeta")}
