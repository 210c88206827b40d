"""Each policy is asked at most once a pass, in an order in which it knows what it reads."""

import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from types import FrameType

import pytest

from reconcile.children.host_ports import allocate_ports
from reconcile.children.partly_placed import await_room
from reconcile.children.refused import await_permission
from reconcile.children.slow_create import await_slow_create
from reconcile.children.startup_errors import await_startup
from reconcile.model.plan import Observed, Plan, Settings
from reconcile.reconcile import POLICIES, Policy, reconcile
from tests.faults.explore import Life
from tests.faults.stories import STORIES
from tests.memory import operator

ORDER = [policy for policy, _ in POLICIES]
CODES = {policy.__code__: policy.__name__ for policy in ORDER}


@pytest.mark.parametrize("story", STORIES)
def test_each_policy_is_asked_at_most_once_a_pass(monkeypatch, story):
    asked: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in CODES:
            asked[CODES[frame.f_code]] += 1

    def counted(observed: Observed, now: datetime, settings: Settings) -> Plan:
        asked.clear()
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            return reconcile(observed, now, settings)
        finally:
            sys.setprofile(before)
            assert not asked or max(asked.values()) == 1, asked.most_common(3)

    monkeypatch.setattr(operator, "reconcile", counted)
    assert Life().live(STORIES[story]) is not None


def source(policy: Policy) -> str:
    return Path(sys.modules[policy.__module__].__file__ or "").read_text()


def test_policies_that_read_holds_come_after_those_that_give_them():
    place = {policy: number for number, policy in enumerate(ORDER)}
    readers = {policy for policy in ORDER if "view.holds" in source(policy)}
    stopping = {policy for policy in ORDER if "Stop." in source(policy)}
    assert readers == {allocate_ports, await_slow_create}
    assert max(stopping, key=place.__getitem__) is await_slow_create
    assert max(stopping - {await_slow_create}, key=place.__getitem__) is allocate_ports
    assert place[await_startup] < place[await_room] < place[await_permission]
