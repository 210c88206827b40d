"""Reads CPU profiles of Go programs, and sums the time by purpose.

The format is profile.proto of github.com/google/pprof: gzip around a message whose samples are
stacks of locations. Fields that are not named here are skipped.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

REST = "everything else"
CPU_NANOSECONDS = 1
"""The index of the CPU time in a sample's values; the other value is the number of samples."""
_PROTO = """
name: "profile.proto" syntax: "proto3"
message_type { name: "Profile"
  field { name: "sample" number: 2 label: LABEL_REPEATED type_name: ".Sample" }
  field { name: "location" number: 4 label: LABEL_REPEATED type_name: ".Location" }
  field { name: "function" number: 5 label: LABEL_REPEATED type_name: ".Function" }
  field { name: "string_table" number: 6 label: LABEL_REPEATED type: TYPE_STRING } }
message_type { name: "Sample"
  field { name: "location_id" number: 1 label: LABEL_REPEATED type: TYPE_UINT64 }
  field { name: "value" number: 2 label: LABEL_REPEATED type: TYPE_INT64 } }
message_type { name: "Location"
  field { name: "id" number: 1 type: TYPE_UINT64 }
  field { name: "line" number: 4 label: LABEL_REPEATED type_name: ".Line" } }
message_type { name: "Line"
  field { name: "function_id" number: 1 type: TYPE_UINT64 } }
message_type { name: "Function"
  field { name: "id" number: 1 type: TYPE_UINT64 }
  field { name: "name" number: 2 type: TYPE_INT64 } }
"""
Kinds = Sequence[tuple[str, str]]
Stack = tuple[Sequence[str], int]
"""Functions, the innermost first, and the time in them, in nanoseconds or in samples."""


def shares(stacks: Iterable[Stack], kinds: Kinds) -> dict[str, float]:
    """Each kind's share of the time, and that of REST; the sum is 1, or 0 without stacks.

    `kinds` are names and regular expressions. A stack counts for the innermost function that
    matches an expression. If a function matches several, the first in `kinds` counts.
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


def read_stacks(data: bytes) -> list[Stack]:
    """The stacks of a profile with their CPU time."""
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
    file = text_format.Parse(_PROTO, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Profile"))


_PROFILE = _build_class()
