"""The times that have to agree, wherever they stand: one table, each row with its reason."""

import itertools

import pytest

from api.training import MIN_STALL_SECONDS
from controller import leader, manager
from controller.client import api
from controller.work import log_reader, memory, result, worker
from controller.workqueue import queue
from kube import watch
from reconcile import reconcile
from reconcile.attempt import adoption
from reconcile.children.slow_create import SPEAKS_SECONDS
from reconcile.model import pause
from reconcile.status.summary import FIRST_STATUS_SECONDS

POD_GRACE_SECONDS = 30.0
"""The time that a kubelet gives the operator to end."""
TABLE: dict[str, tuple[float, ...]] = {
    "a watch is away after a second try": (2 * watch.RETRY_SECONDS[0], watch.AWAY_SECONDS),
    "a shutdown ends within its pod's grace": (
        manager.DRAIN_SECONDS + manager.EVENTS_SECONDS + manager.JOIN_SECONDS,
        POD_GRACE_SECONDS,
    ),
    "a request that hangs is slow": (result.SLOW_SECONDS, api.READ_TIMEOUT_SECONDS),
    "a watch that hangs is replaced before notes expire": (
        watch.READ_TIMEOUT_SECONDS,
        memory.AWAIT_SECONDS,
    ),
    "a leader stops before its lease ends": (leader.RENEW_DEADLINE_SECONDS, leader.LEASE_SECONDS),
    "a job tries itself while a slow create speaks": (pause.UNTRIED_PAUSE_SECONDS, SPEAKS_SECONDS),
    "pauses grow": (
        pause.UNTRIED_PAUSE_SECONDS,
        pause.FIRST_PAUSE_SECONDS,
        pause.USUAL_PAUSE_SECONDS,
        pause.MAX_PAUSE_SECONDS,
    ),
    "first statuses wait longest": (
        reconcile.STATUS_INTERVAL_SECONDS,
        reconcile.CAUSE_SECONDS,
        FIRST_STATUS_SECONDS,
    ),
    "a log is read more than once before a stall": (
        2 * log_reader.PERIOD_SECONDS,
        MIN_STALL_SECONDS,
    ),
    "an event batch is no backlog": (worker.BATCH_SECONDS, queue.BACKLOG_LASTS_SECONDS),
}


@pytest.mark.parametrize("what", TABLE)
def test_times_that_have_to_agree_do(what):
    times = TABLE[what]
    assert all(first < second for first, second in itertools.pairwise(times))


def test_equal_times_stay_equal():
    assert worker.BATCH_SECONDS == queue.BACKLOG_SECONDS
    assert worker.LEAST_WAIT_SECONDS == adoption.AGAIN_SECONDS, "a failed pass is no faster"
    assert result.PERSISTENT_SECONDS == result.SLOW_SECONDS
