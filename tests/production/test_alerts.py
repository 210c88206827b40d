"""Each alert fires where it should and stays silent where it should not: promtool judges.

tests/production/test_causes.py has their causes fire them in a real Prometheus.
"""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from api.objects import Raw
from manifests.__main__ import ROOT
from manifests.alerts import ALERTS
from tests.live import patience
from tests.live.debian import missing

pytestmark = pytest.mark.skipif(
    bool(missing("promtool")), reason="promtool is missing: install Debian's package prometheus"
)

RULES = ROOT / "deploy" / "monitoring" / "alerts.yaml"
OURS = {"job": "paddlejob", "namespace": "paddle-system"}
POD = 'job="paddlejob",namespace="paddle-system",instance="10.0.0.1:8080"'
OTHER = 'job="paddlejob",namespace="paddle-system",instance="10.0.0.2:8080"'
C = 'controller="paddlejob"'
LEASE = 'name="paddlejob-operator-all"'
LEADER = "leader_election_master_status"
LEADS, OTHER_LEADS = (f"{LEADER}{{{each},{LEASE}}}" for each in (POD, OTHER))
AGE = "paddlejob_watch_last_event_age_seconds"
PODS_AGE = f'{AGE}{{{POD},kind="pods.v1"}}'
AHEAD, OTHER_AHEAD = (f"paddlejob_clock_ahead_seconds{{{each}}}" for each in (POD, OTHER))
CREATED = f"paddlejob_created_total{{{POD}}}"
PASSES = "controller_runtime_reconcile_total"
DONE = f'{PASSES}{{{POD},{C},result="success"}}'
ERRORS = f"controller_runtime_reconcile_errors_total{{{POD},{C}}}"
RUNNING = "workqueue_longest_running_processor_seconds"
LONGEST = f"{RUNNING}{{{POD},{C}}}"
DEPTH = f"workqueue_depth{{{POD},{C}}}"
QUEUED = "workqueue_queue_duration_seconds"
WAITED, IN_TIME = f"{QUEUED}_count{{{POD},{C}}}", f'{QUEUED}_bucket{{{POD},{C},le="1.0"}}'
OF_TEAM = f'{POD},job_namespace="team-a"'
TEAM_FAILED = f'paddlejob_namespace_failed_total{{{OF_TEAM},reason="PodFailed"}}'
JOBS = f'paddlejob_jobs{{{POD},mode="PS",phase="Running"}}'
FAILED = f'paddlejob_failed_total{{{POD},mode="PS",reason="PodFailed"}}'
DROPPED = f'paddlejob_events_dropped_total{{{POD},cause="buffer_full"}}'
RESTARTED = f'paddlejob_restarted_total{{{POD},mode="PS"}}'
UP = {f'paddlejob_created_total{{{POD},mode="PS"}}': "0x9000"}


@dataclass(frozen=True)
class Case:
    """Series by the minute, and the labels of what fires at this minute, which may be nothing."""

    alert: str
    what: str
    minute: int
    series: dict[str, str]
    fires: tuple[Raw, ...] = field(default=())


def fire(alert: str, what: str, minute: int, series: dict[str, str], **labels: str) -> Case:
    return Case(alert, what, minute, series, (OURS | labels,))


def waiting(reason: str) -> str:
    return f'paddlejob_waiting_jobs{{{POD},mode="PS",reason="{reason}"}}'


def longest(reason: str) -> str:
    return f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="{reason}"}}'


def teams_longest(reason: str) -> str:
    return f'paddlejob_namespace_longest_wait_seconds{{{OF_TEAM},reason="{reason}"}}'


def late(share: float) -> dict[str, str]:
    """A hundred passes a minute, of which this share comes late."""
    in_time = 100 - 100 * share
    return {WAITED: "0+100x500", IN_TIME: f"0+{in_time}x500"}


CASES = (
    Case("PaddleJobOperatorDown", "nobody is scraped", 6, {}, ({},)),
    Case("PaddleJobOperatorDown", "it goes", 16, {CREATED: "0x5"}, ({},)),
    Case("PaddleJobOperatorDown", "it is there", 60, UP),
    Case("PaddleJobOperatorDown", "one of two releases goes", 16, {CREATED: "0x5",
        'paddlejob_created_total{namespace="team",job="other"}': "0x30"},
        ({"namespace": "paddle-system"},)),
    Case("PaddleJobOperatorDown", "its target gets another label `job`", 60, {CREATED: "0x20",
        'paddlejob_created_total{namespace="paddle-system",job="podmonitor"}': "_x20 0x60"}),
    Case("PaddleJobOperatorDown", "two releases are there", 30, {CREATED: "0x40",
        'paddlejob_created_total{namespace="team",job="other"}': "0x40"}),
    Case("PaddleJobOperatorDown", "one of two was removed a day ago", 1500, {CREATED: "0x5",
        'paddlejob_created_total{namespace="team",job="other"}': "0x1600"}),
    Case("PaddleJobOperatorDown", "a restart of three minutes", 12,
        {CREATED: "0x5 stale _x2 0x10"}),
    fire("PaddleJobOperatorNotLeading", "two stand by", 5, {LEADS: "0x10", OTHER_LEADS: "0x10"},
        name="paddlejob-operator-all"),
    Case("PaddleJobOperatorNotLeading", "one of two leads", 9, {LEADS: "0x10",
        OTHER_LEADS: "1x10"}),
    Case("PaddleJobOperatorNotLeading", "another takes over", 6, {LEADS: "1x3 0x7",
        OTHER_LEADS: "0x4 1x6"}),
    Case("PaddleJobOperatorNotLeading", "somebody else's", 9,
        {f'{LEADER}{{job="kueue",name="kueue"}}': "0x10"}),
    fire("PaddleJobOperatorsCompete", "two lead", 5, {f"paddlejob_other_leaders{{{POD}}}": "1x10"},
        instance="10.0.0.1:8080"),
    Case("PaddleJobOperatorsCompete", "one takes over", 8,
        {f"paddlejob_other_leaders{{{POD}}}": "0x2 1 0x10"}),
    fire("PaddleJobWatchSilent", "pods", 8, {PODS_AGE: "0+60x10",
        f'{AGE}{{{POD},kind="nodes.v1"}}': "30x10"}, kind="pods.v1", instance="10.0.0.1:8080"),
    Case("PaddleJobWatchSilent", "bookmarks come", 10,
        {PODS_AGE: "0 60 20 61 5 70 119 0 60 30 1"}),
    fire("PaddleJobOperatorClockDiffers", "it is behind", 5, {AHEAD: "-600x10",
        OTHER_AHEAD: "1x10"}, instance="10.0.0.1:8080"),
    Case("PaddleJobOperatorClockDiffers", "a few seconds", 9, {AHEAD: "4x10"}),
    fire("PaddleJobReconcileErrors", "half of them", 20, {ERRORS: "0+30x30",
        f'{PASSES}{{{POD},{C},result="error"}}': "0+30x30", DONE: "0+30x30"}),
    Case("PaddleJobReconcileErrors", "one in a hundred", 30, {ERRORS: "0+1x30", DONE: "0+100x30"}),
    Case("PaddleJobReconcileErrors", "for a moment", 30, {ERRORS: "0x15 0+30x3 90x12",
        DONE: "0+100x30"}),
    Case("PaddleJobReconcileErrors", "nothing is done at all", 30, {ERRORS: "5x30", DONE: "9x30"}),
    fire("PaddleJobQueueStuck", "a pass that does not end", 12, {LONGEST: "0+60x20"}),
    fire("PaddleJobQueueStuck", "jobs wait and none is worked on", 16, {DEPTH: "7x30",
        DONE: "100x30"}),
    Case("PaddleJobQueueStuck", "a long queue that moves", 30, {DEPTH: "900x30", LONGEST: "9x30",
        DONE: "0+60x30"}),
    Case("PaddleJobQueueStuck", "nothing to do", 30, {DEPTH: "0x30", DONE: "100x30"}),
    Case("PaddleJobQueueStuck", "another controller", 30,
        {f'{RUNNING}{{job="x",controller="deployment"}}': "0+60x30"}),
    fire("PaddleJobPassesLate", "a fifth of them", 70, late(0.2)),
    fire("PaddleJobPassesLate", "one in ten, for long", 400, late(0.1)),
    Case("PaddleJobPassesLate", "within the aim", 400, late(0.005)),
    Case("PaddleJobPassesLate", "a burst of three minutes", 65, {WAITED: "0+100x70",
        IN_TIME: "0+100x57 5720+20x2 5860+100x70"}),
    Case("PaddleJobPassesLate", "nothing to do", 70, {WAITED: "9x99", IN_TIME: "9x99"}),
    fire("PaddleJobNamespaceWaits", "for GPUs", 70, {teams_longest("Unschedulable"): "0+60x99"},
        job_namespace="team-a", reason="Unschedulable"),
    Case("PaddleJobNamespaceWaits", "in a queue", 90, {teams_longest("Queued"): "0+60x99"}),
    fire("PaddleJobNamespaceFails", "of a team that had no failure yet", 80, {JOBS: "10x99",
        TEAM_FAILED: "_x60 4x99"}, job_namespace="team-a"),
    Case("PaddleJobNamespaceFails", "nothing was scraped an hour ago", 85, {JOBS: "_x30 10x99",
        TEAM_FAILED: "_x30 9x99"}),
    Case("PaddleJobNamespaceFails", "long ago", 90, {JOBS: "10x99", TEAM_FAILED: "_x10 4x99"}),
    Case("PaddleJobNamespaceFails", "the operator begins anew", 90, {TEAM_FAILED: "90x60 1x99"}),
    fire("PaddleJobsPendingTooLong", "for GPUs", 70, {longest("Unschedulable"): "0+60x99",
        longest("BackOff"): "300x99"}, reason="Unschedulable"),
    Case("PaddleJobsPendingTooLong", "half an hour", 40,
        {longest("Unschedulable"): "0+60x30 0x30"}),
    fire("PaddleJobsQueuedTooLong", "a job that never fits", 1450,
        {longest("Queued"): "0+60x1500"}),
    Case("PaddleJobsQueuedTooLong", "a night", 700, {longest("Queued"): "0+60x1500"}),
    Case("PaddleJobsPendingTooLong", "in a queue", 700, {longest("Queued"): "0+60x1500"}),
    fire("PaddleJobsStalled", "a hang", 5, {waiting("NoOutput"): "0 1x30",
        waiting("NoNewStep"): "0x30"}, reason="NoOutput"),
    Case("PaddleJobsStalled", "they wait for nodes", 30, {waiting("Unschedulable"): "3x30"}),
    fire("PaddleJobsOnLostNodes", "a dead node", 5, {waiting("NodeLost"): "0 1x30"}),
    Case("PaddleJobsOnLostNodes", "for a minute", 30, {waiting("NodeLost"): "0 1 0x30"}),
    fire("PaddleJobsFailing", "a wave", 1510, {FAILED: "0+1x20 20x1440 20+2x60"}),
    Case("PaddleJobsFailing", "as ever", 2000, {FAILED: "0+1x2000"}),
    Case("PaddleJobsFailing", "two", 1510, {FAILED: "0x1480 2x50"}),
    fire("PaddleJobRestartsStorming", "of ten jobs", 20, {JOBS: "10x30", RESTARTED: "0+2x30"}),
    Case("PaddleJobRestartsStorming", "a few", 20, {JOBS: "10x30", RESTARTED: "0x10 5x20"}),
    Case("PaddleJobRestartsStorming", "of a thousand jobs", 20, {JOBS: "1000x30",
        RESTARTED: "0+2x30"}),
    fire("PaddleJobWritesRefused", "a webhook", 12, {waiting("CreateRefused"): "3x30",
        waiting("NameConflict"): "0x30"}, reason="CreateRefused"),
    Case("PaddleJobWritesRefused", "a quota", 30, {waiting("QuotaExceeded"): "3x30"}),
    Case("PaddleJobWritesRefused", "it heals", 30, {waiting("CreateRefused"): "3x8 0x30"}),
    fire("PaddleJobEventsDropped", "a burst", 10, {DROPPED: "0x5 400x30"}, cause="buffer_full"),
    Case("PaddleJobEventsDropped", "long ago", 40, {DROPPED: "0x5 400x50"}),
    Case("PaddleJobEventsDropped", "none", 10, {DROPPED: "0x30"}),
)  # fmt: skip


@pytest.mark.parametrize("name", [alert.name for alert in ALERTS])
def test_every_alert_is_seen_to_fire_and_to_stay_silent(name: str) -> None:
    fires = {bool(case.fires) for case in CASES if case.alert == name}
    assert fires == {True, False}


def test_promtool_finds_nothing_wrong() -> None:
    promtool("check", "rules", str(RULES))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.what}")
def test_alert(case: Case, tmp_path: Path) -> None:
    """What fires at this minute, as the series ALERTS has it."""
    severity = next(alert.severity for alert in ALERTS if alert.name == case.alert)
    about = {"alertname": case.alert, "alertstate": "firing"}
    always = {"__name__": "ALERTS", **about, "severity": severity}
    expected = [{"labels": selector("", always | each), "value": 1} for each in case.fires]
    question = {
        "expr": selector("ALERTS", about),
        "eval_time": f"{case.minute}m",
        "exp_samples": expected,
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": s, "values": v} for s, v in case.series.items()],
        "promql_expr_test": [question],
    }
    whole = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(whole))
    promtool("test", "rules", str(path))


def selector(name: str, labels: Raw) -> str:
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


def promtool(*arguments: str) -> None:
    done = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, timeout=patience.SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
