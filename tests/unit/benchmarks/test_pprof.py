"""Shares of a CPU profile."""

import gzip

import pytest

from benchmarks import pprof

KINDS = (("garbage", r"^runtime\.gc"), ("JSON", "encoding/json"), ("server", "net/http"))


def a_profile(*stacks: tuple[int, list[str]]) -> bytes:
    """Nanoseconds and functions, the innermost first."""
    profile = pprof._PROFILE()
    names = sorted({name for _, stack in stacks for name in stack})
    profile.string_table.extend(["", *names])
    for number, _ in enumerate(names, start=1):
        profile.function.add(id=number, name=number)
        profile.location.add(id=number).line.add(function_id=number)
    for nanoseconds, stack in stacks:
        where = [names.index(name) + 1 for name in stack]
        profile.sample.add(location_id=where, value=[1, nanoseconds])
    return gzip.compress(profile.SerializeToString())


def test_a_sample_counts_for_its_innermost_known_function():
    profile = a_profile(
        (600, ["runtime.malloc", "encoding/json.Marshal", "net/http.Serve"]),
        (100, ["runtime.gcAssistAlloc", "runtime.malloc", "encoding/json.Marshal"]),
        (200, ["mine.Handle", "net/http.Serve"]),
        (100, ["main.main"]),
    )
    assert pprof.shares(pprof.read_stacks(profile), KINDS) == pytest.approx(
        {"garbage": 0.1, "JSON": 0.6, "server": 0.2, pprof.REST: 0.1}
    )
