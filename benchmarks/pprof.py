"""CPU profiles as Go programs serve them: which share of the time went where.

The format is profile.proto of github.com/google/pprof: gzip around a message whose samples are
stacks of locations. Fields that are not named here are skipped.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

REST = "everything else"
CPU_NANOSECONDS = 1
"""Which of a sample's two values counts; the other is the number of samples."""
_MESSAGES = {
    "Profile": {
        "sample": (2, "Sample"),
        "location": (4, "Location"),
        "function": (5, "Function"),
        "string_table": (6, "string"),
    },
    "Sample": {"location_id": (1, "uint64"), "value": (2, "int64")},
    "Location": {"id": (1, "uint64"), "line": (4, "Line")},
    "Line": {"function_id": (1, "uint64")},
    "Function": {"id": (1, "uint64"), "name": (2, "int64")},
}
_SINGLE = {"id", "name", "function_id"}
Kinds = Sequence[tuple[str, str]]


Stack = tuple[Sequence[str], int]
"""Functions, the innermost first, and how much time was seen in them."""


def shares(profile: bytes, kinds: Kinds) -> dict[str, float]:
    """Each kind's share of the CPU time of a Go program's profile, and REST; together 1."""
    return shares_of(_read_stacks(profile), kinds)


def shares_of(stacks: Iterable[Stack], kinds: Kinds) -> dict[str, float]:
    """Each kind's share of the time, and REST; together 1.

    `kinds` are names and regular expressions. A sample belongs to the innermost of its functions
    in which an expression is found, and there to the first of them.
    """
    seconds: Counter[str] = Counter()
    patterns = [(name, re.compile(expression)) for name, expression in kinds]

    @cache
    def kind_of(function: str) -> str | None:
        return next((name for name, pattern in patterns if pattern.search(function)), None)

    for stack, time in stacks:
        seconds[next(filter(None, map(kind_of, stack)), REST)] += time
    total = sum(seconds.values()) or 1
    return {name: seconds[name] / total for name in (*(name for name, _ in kinds), REST)}


def _read_stacks(data: bytes) -> list[Stack]:
    profile = _PROFILE()
    profile.ParseFromString(gzip.decompress(data))
    names = {each.id: profile.string_table[each.name] for each in profile.function}
    frames = {each.id: [names[line.function_id] for line in each.line] for each in profile.location}
    # Stacks begin with the innermost function.
    return [
        (
            [name for location in sample.location_id for name in frames[location]],
            sample.value[CPU_NANOSECONDS],
        )
        for sample in profile.sample
    ]


def _build_class() -> Any:
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="pprof.proto", package="pprof", syntax="proto3")
    for name, table in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in table.items():
            label = kinds.LABEL_OPTIONAL if field in _SINGLE else kinds.LABEL_REPEATED
            added = message.field.add(name=field, number=number, label=label)
            if kind in _MESSAGES:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".pprof.{kind}"
            else:
                added.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))


_PROFILE = _build_class()
