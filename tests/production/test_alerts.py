"""Each alert fires where it should and stays silent where it should not: promtool judges.

tests/production/test_monitoring.py has some of them fire in a real Prometheus.
"""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from api.objects import Raw
from manifests.__main__ import ROOT
from manifests.alerts import ALERTS
from tests.live.debian import missing

pytestmark = pytest.mark.skipif(
    bool(missing("promtool")), reason="promtool is missing: install Debian's package prometheus"
)

RULES = ROOT / "deploy" / "monitoring" / "alerts.yaml"
OURS = {"job": "paddlejob", "namespace": "paddle-system"}
POD = 'job="paddlejob",namespace="paddle-system",instance="10.0.0.1:8080"'
OTHER = 'job="paddlejob",namespace="paddle-system",instance="10.0.0.2:8080"'
LEADER = "leader_election_master_status"
LEASE = 'name="paddlejob-operator-all"'
AHEAD = "paddlejob_clock_ahead_seconds"
AGE = "paddlejob_watch_last_event_age_seconds"
PASSES = "controller_runtime_reconcile_total"
ERRORS = "controller_runtime_reconcile_errors_total"
C = 'controller="paddlejob"'
LONGEST = "workqueue_longest_running_processor_seconds"
JOBS = f'paddlejob_jobs{{{POD},mode="PS",phase="Running"}}'
WAITED = "workqueue_queue_duration_seconds"
OF_TEAM, TEAM = "paddlejob_namespace", 'job_namespace="team-a"'
WAITING = "paddlejob_waiting_jobs"
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


def late(share: float) -> dict[str, str]:
    """A hundred passes a minute, of which this share comes late."""
    in_time = 100 - 100 * share
    return {
        f"{WAITED}_count{{{POD},{C}}}": "0+100x500",
        f'{WAITED}_bucket{{{POD},{C},le="1.0"}}': f"0+{in_time}x500",
    }


CASES = (
    Case("PaddleJobOperatorDown", "nobody is scraped", 6, {}, ({},)),
    Case("PaddleJobOperatorDown", "it goes", 16, {
        f"paddlejob_created_total{{{POD}}}": "0x5"}, ({},)),
    Case("PaddleJobOperatorDown", "it is there", 60, UP),
    Case("PaddleJobOperatorDown", "a restart of three minutes", 12, {
        f"paddlejob_created_total{{{POD}}}": "0x5 stale _x2 0x10"}),
    fire("PaddleJobOperatorNotLeading", "two stand by", 5, {
        f"{LEADER}{{{POD},{LEASE}}}": "0x10", f"{LEADER}{{{OTHER},{LEASE}}}": "0x10"},
        name="paddlejob-operator-all"),
    Case("PaddleJobOperatorNotLeading", "one of two leads", 9, {
        f"{LEADER}{{{POD},{LEASE}}}": "0x10", f"{LEADER}{{{OTHER},{LEASE}}}": "1x10"}),
    Case("PaddleJobOperatorNotLeading", "another takes over", 6, {
        f"{LEADER}{{{POD},{LEASE}}}": "1x3 0x7", f"{LEADER}{{{OTHER},{LEASE}}}": "0x4 1x6"}),
    Case("PaddleJobOperatorNotLeading", "somebody else's", 9, {
        f'{LEADER}{{job="kueue",name="kueue"}}': "0x10"}),
    fire("PaddleJobWatchSilent", "pods", 8, {
        f'{AGE}{{{POD},kind="pods.v1"}}': "0+60x10", f'{AGE}{{{POD},kind="nodes.v1"}}': "30x10"},
        kind="pods.v1", instance="10.0.0.1:8080"),
    Case("PaddleJobWatchSilent", "bookmarks come", 10, {
        f'{AGE}{{{POD},kind="pods.v1"}}': "0 60 20 61 5 70 119 0 60 30 1"}),
    fire("PaddleJobOperatorClockDiffers", "it is behind", 5, {
        f"{AHEAD}{{{POD}}}": "-600x10", f"{AHEAD}{{{OTHER}}}": "1x10"},
        instance="10.0.0.1:8080"),
    Case("PaddleJobOperatorClockDiffers", "a few seconds", 9, {f"{AHEAD}{{{POD}}}": "4x10"}),
    fire("PaddleJobReconcileErrors", "half of them", 20, {
        f"{ERRORS}{{{POD},{C}}}": "0+30x30",
        f'{PASSES}{{{POD},{C},result="error"}}': "0+30x30",
        f'{PASSES}{{{POD},{C},result="success"}}': "0+30x30"}),
    Case("PaddleJobReconcileErrors", "one in a hundred", 30, {
        f"{ERRORS}{{{POD},{C}}}": "0+1x30",
        f'{PASSES}{{{POD},{C},result="success"}}': "0+100x30"}),
    Case("PaddleJobReconcileErrors", "for a moment", 30, {
        f"{ERRORS}{{{POD},{C}}}": "0x15 0+30x3 90x12",
        f'{PASSES}{{{POD},{C},result="success"}}': "0+100x30"}),
    Case("PaddleJobReconcileErrors", "nothing is done at all", 30, {
        f"{ERRORS}{{{POD},{C}}}": "5x30", f'{PASSES}{{{POD},{C},result="success"}}': "9x30"}),
    fire("PaddleJobQueueStuck", "a pass that does not end", 12, {
        f"{LONGEST}{{{POD},{C}}}": "0+60x20"}),
    fire("PaddleJobQueueStuck", "jobs wait and none is worked on", 16, {
        f"workqueue_depth{{{POD},{C}}}": "7x30",
        f'{PASSES}{{{POD},{C},result="success"}}': "100x30"}),
    Case("PaddleJobQueueStuck", "a long queue that moves", 30, {
        f"workqueue_depth{{{POD},{C}}}": "900x30", f"{LONGEST}{{{POD},{C}}}": "9x30",
        f'{PASSES}{{{POD},{C},result="success"}}': "0+60x30"}),
    Case("PaddleJobQueueStuck", "nothing to do", 30, {
        f"workqueue_depth{{{POD},{C}}}": "0x30",
        f'{PASSES}{{{POD},{C},result="success"}}': "100x30"}),
    Case("PaddleJobQueueStuck", "another controller", 30, {
        f'{LONGEST}{{job="x",controller="deployment"}}': "0+60x30"}),
    fire("PaddleJobPassesLate", "a fifth of them", 70, late(0.2)),
    fire("PaddleJobPassesLate", "one in ten, for long", 400, late(0.1)),
    Case("PaddleJobPassesLate", "within the aim", 400, late(0.005)),
    Case("PaddleJobPassesLate", "a burst of three minutes", 65, {
        f'{WAITED}_count{{{POD},{C}}}': "0+100x70",
        f'{WAITED}_bucket{{{POD},{C},le="1.0"}}': "0+100x57 5720+20x2 5860+100x70"}),
    Case("PaddleJobPassesLate", "nothing to do", 70, {
        f'{WAITED}_count{{{POD},{C}}}': "9x99", f'{WAITED}_bucket{{{POD},{C},le="1.0"}}': "9x99"}),
    fire("PaddleJobNamespaceWaits", "for GPUs", 70, {
        f'{OF_TEAM}_longest_wait_seconds{{{POD},{TEAM},reason="Unschedulable"}}': "0+60x99"},
        job_namespace="team-a", reason="Unschedulable"),
    Case("PaddleJobNamespaceWaits", "in a queue", 90, {
        f'{OF_TEAM}_longest_wait_seconds{{{POD},{TEAM},reason="Queued"}}': "0+60x99"}),
    fire("PaddleJobNamespaceFails", "of a team that had no failure yet", 80, {
        JOBS: "10x99", f'{OF_TEAM}_failed_total{{{POD},{TEAM},reason="PodFailed"}}': "_x60 4x99"},
        job_namespace="team-a"),
    Case("PaddleJobNamespaceFails", "nothing was scraped an hour ago", 85, {
        JOBS: "_x30 10x99",
        f'{OF_TEAM}_failed_total{{{POD},{TEAM},reason="PodFailed"}}': "_x30 9x99"}),
    Case("PaddleJobNamespaceFails", "long ago", 90, {
        JOBS: "10x99", f'{OF_TEAM}_failed_total{{{POD},{TEAM},reason="PodFailed"}}': "_x10 4x99"}),
    Case("PaddleJobNamespaceFails", "the operator begins anew", 90, {
        f'{OF_TEAM}_failed_total{{{POD},{TEAM},reason="PodFailed"}}': "90x60 1x99"}),
    fire("PaddleJobsPendingTooLong", "for GPUs", 70, {
        f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="Unschedulable"}}': "0+60x99",
        f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="BackOff"}}': "300x99"},
        reason="Unschedulable"),
    Case("PaddleJobsPendingTooLong", "half an hour", 40, {
        f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="Unschedulable"}}':
        "0+60x30 0x30"}),
    fire("PaddleJobsQueuedTooLong", "a job that never fits", 1450, {
        f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="Queued"}}': "0+60x1500"}),
    Case("PaddleJobsQueuedTooLong", "a night", 700, {
        f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="Queued"}}': "0+60x1500"}),
    Case("PaddleJobsPendingTooLong", "in a queue", 700, {
        f'paddlejob_longest_wait_seconds{{{POD},mode="PS",reason="Queued"}}': "0+60x1500"}),
    fire("PaddleJobsStalled", "a hang", 5, {
        f'{WAITING}{{{POD},mode="PS",reason="NoOutput"}}': "0 1x30",
        f'{WAITING}{{{POD},mode="PS",reason="NoNewStep"}}': "0x30"}, reason="NoOutput"),
    Case("PaddleJobsStalled", "they wait for nodes", 30, {
        f'{WAITING}{{{POD},mode="PS",reason="Unschedulable"}}': "3x30"}),
    fire("PaddleJobsFailing", "a wave", 1510, {FAILED: "0+1x20 20x1440 20+2x60"}),
    Case("PaddleJobsFailing", "as ever", 2000, {FAILED: "0+1x2000"}),
    Case("PaddleJobsFailing", "two", 1510, {FAILED: "0x1480 2x50"}),
    fire("PaddleJobRestartsStorming", "of ten jobs", 20, {JOBS: "10x30", RESTARTED: "0+2x30"}),
    Case("PaddleJobRestartsStorming", "a few", 20, {JOBS: "10x30", RESTARTED: "0x10 5x20"}),
    Case("PaddleJobRestartsStorming", "of a thousand jobs", 20, {
        JOBS: "1000x30", RESTARTED: "0+2x30"}),
    fire("PaddleJobWritesRefused", "a webhook", 12, {
        f'{WAITING}{{{POD},mode="PS",reason="CreateRefused"}}': "3x30",
        f'{WAITING}{{{POD},mode="PS",reason="NameConflict"}}': "0x30"}, reason="CreateRefused"),
    Case("PaddleJobWritesRefused", "a quota", 30, {
        f'{WAITING}{{{POD},mode="PS",reason="QuotaExceeded"}}': "3x30"}),
    Case("PaddleJobWritesRefused", "it heals", 30, {
        f'{WAITING}{{{POD},mode="PS",reason="CreateRefused"}}': "3x8 0x30"}),
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
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
