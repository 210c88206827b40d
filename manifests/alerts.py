"""The alerts, one by one: the only place where they are listed.

Queries select no Prometheus job by name. They aggregate by the target labels `namespace` and `job`,
so that two operators do not mix, and by `cluster`, which a Prometheus of several clusters has. If
all replicas report a metric, they take its highest value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from api.objects import Raw

GROUP = "paddlejob-operator"
RUNBOOK = "docs/alerts.md"
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
OF_ONE = "cluster, namespace, job"
BY = f"by ({OF_ONE}"
LATE = "paddlejob:late_passes:ratio_rate"
"""The start of the recorded metrics' names; the window follows. They show the share of passes that
began late: the job had waited for a worker for more than a second."""
WINDOWS = (5 * MINUTE, 30 * MINUTE, HOUR, 6 * HOUR)
AIM = 0.01
"""The share of late passes in 30 days that the aim allows: the default limit of the alert."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. `spans` are named durations in seconds.

    In `query`, the name of a duration in braces is replaced by its value, and `{limit}` by the
    alert's limit. The alert fires if the query has had a result for `for_seconds`. The limit is a
    value of the chart: the span named `limit`, or `count` if it is not a duration.
    """

    name: str
    severity: Literal["critical", "warning", "info"]
    query: str
    for_seconds: float
    summary: str
    description: str
    spans: tuple[tuple[str, float], ...] = ()
    count: float | None = None
    """The limit, if it is not a duration."""

    @property
    def limit(self) -> float | None:
        """The number above which the alert fires; None if it has none."""
        return dict(self.spans).get("limit", self.count)

    @property
    def anchor(self) -> str:
        """The link to the alert's paragraph in the runbook."""
        return f"{RUNBOOK}#{self.name.lower()}"


def _burns(rate: float, short: str, long: str) -> str:
    """The condition that late passes use up the budget `rate` times too fast, over the short and
    the long window.
    """
    return f"({LATE}{short} > {rate:g} * {{limit}} and {LATE}{long} > {rate:g} * {{limit}})"


ALERTS = (
    Alert(
        "PaddleJobOperatorDown",
        "critical",
        "absent(paddlejob_created_total)"
        " or (count by (cluster, namespace) (last_over_time(paddlejob_created_total[{window}]))"
        " unless count by (cluster, namespace) (paddlejob_created_total))"
        " and on () paddlejob_created_total",
        5 * MINUTE,
        "Prometheus sees no PaddleJob operator{{ with $labels.namespace }} in {{ . }}{{ end }}",
        "No metrics of the operator for five minutes: it does not run, or it cannot be scraped.",
        (("window", DAY),),
    ),
    Alert(
        "PaddleJobOperatorNotLeading",
        "critical",
        f'max {BY}, name) (leader_election_master_status{{name=~"paddlejob-operator-.+"}}) < 1',
        2 * MINUTE,
        "No replica of the PaddleJob operator leads",
        "Nobody has held the Lease {{ $labels.name }} for two minutes: no operator works on the "
        "jobs.",
    ),
    Alert(
        "PaddleJobOperatorsCompete",
        "critical",
        f"max {BY}, instance) (paddlejob_other_leaders) > 0",
        2 * MINUTE,
        "Two PaddleJob operators lead at once",
        "{{ $labels.instance }} runs the jobs of all namespaces, and {{ $value }} other operators "
        "lead, too: they overwrite each other's changes.",
    ),
    Alert(
        "PaddleJobWatchSilent",
        "critical",
        f"max {BY}, instance, kind) (paddlejob_watch_last_event_age_seconds) > {{limit}}",
        MINUTE,
        "The PaddleJob operator's watch of {{ $labels.kind }} is silent",
        "It has brought nothing for {{ $value | humanizeDuration }}, not even a bookmark: "
        "{{ $labels.instance }} does not see what happens to jobs.",
        (("limit", 2 * MINUTE),),
    ),
    Alert(
        "PaddleJobOperatorClockDiffers",
        "warning",
        f"max {BY}, instance) (abs(paddlejob_clock_ahead_seconds)) > {{limit}}",
        2 * MINUTE,
        "The clock of {{ $labels.instance }} differs from the API server's",
        "The difference is {{ $value | humanizeDuration }}. The operator uses the API server's "
        "time meanwhile.",
        count=5,
    ),
    Alert(
        "PaddleJobReconcileErrors",
        "warning",
        f'sum {BY}) (rate(controller_runtime_reconcile_errors_total{{controller="paddlejob"}}'
        "[{window}])) "
        f"  > {{limit}} * sum {BY}) (rate(controller_runtime_reconcile_total"
        '{controller="paddlejob"}[{window}]))',
        10 * MINUTE,
        "Reconciles of PaddleJobs fail",
        "A large share of the passes has failed for ten minutes, {{ $value | humanize }} a second. "
        "They are retried.",
        (("window", 5 * MINUTE),),
        0.1,
    ),
    Alert(
        "PaddleJobQueueStuck",
        "critical",
        f'max {BY}) (workqueue_longest_running_processor_seconds{{controller="paddlejob"}})'
        " > {limit} "
        f'or (max {BY}) (min_over_time(workqueue_depth{{controller="paddlejob"}}[{{window}}]))'
        " > 0 "
        f'  and sum {BY}) (increase(controller_runtime_reconcile_total{{controller="paddlejob"}}'
        "[{window}])) == 0)",
        5 * MINUTE,
        "The PaddleJob operator's queue is stuck",
        "A pass has taken minutes, or jobs wait for a worker and no pass has ended for minutes.",
        (("limit", 2 * MINUTE), ("window", 5 * MINUTE)),
    ),
    Alert(
        "PaddleJobPassesLate",
        "warning",
        f"{_burns(14.4, '5m', '1h')} or {_burns(6, '30m', '6h')}",
        2 * MINUTE,
        "The PaddleJob operator is late",
        "{{ $value | humanizePercentage }} of the passes begin more than a second late. At this "
        "rate, the late passes that are allowed in 30 days are used up in five days or less.",
        count=AIM,
    ),
    Alert(
        "PaddleJobsPendingTooLong",
        "warning",
        f'max {BY}, reason) (paddlejob_longest_wait_seconds{{reason!="Queued"}}) > {{limit}}',
        MINUTE,
        "A PaddleJob has waited for too long: {{ $labels.reason }}",
        "The longest wait is {{ $value | humanizeDuration }}.",
        (("limit", HOUR),),
    ),
    Alert(
        "PaddleJobsQueuedTooLong",
        "warning",
        f'max {BY}) (paddlejob_longest_wait_seconds{{reason="Queued"}}) > {{limit}}',
        MINUTE,
        "A PaddleJob has waited for quota for too long",
        "The longest wait in a queue of Kueue is {{ $value | humanizeDuration }}.",
        (("limit", DAY),),
    ),
    Alert(
        "PaddleJobsStalled",
        "warning",
        f"max {BY}, reason) (sum {BY}, reason, instance) (paddlejob_waiting_jobs"
        '{reason=~"NoOutput|NoNewStep"})) > {limit}',
        MINUTE,
        "PaddleJobs have stalled: {{ $labels.reason }}",
        "{{ $value }} jobs occupy their nodes and do not train: their logs have shown nothing "
        "new for as long as their stallPolicy says.",
        count=0,
    ),
    Alert(
        "PaddleJobsOnLostNodes",
        "warning",
        f"max {BY}) (sum {BY}, instance) (paddlejob_waiting_jobs"
        '{reason="NodeLost"})) > {limit}',
        2 * MINUTE,
        "PaddleJobs have pods on nodes that do not answer",
        "{{ $value }} jobs seem to run, but a node of theirs does not answer, and nobody evicts "
        "their pods from it.",
        count=0,
    ),
    Alert(
        "PaddleJobsFailing",
        "warning",
        f"(sum {BY}) (increase(paddlejob_failed_total[{{window}}])) > {{limit}}) "
        f"  and sum {BY}) (rate(paddlejob_failed_total[{{window}}])) "
        f"    > 3 * sum {BY}) (rate(paddlejob_failed_total[{{usual}}]))",
        5 * MINUTE,
        "PaddleJobs fail more often than usual",
        "{{ $value | humanize }} jobs have failed in an hour, more than three times the last day's "
        "average.",
        (("window", HOUR), ("usual", DAY)),
        3,
    ),
    Alert(
        "PaddleJobNamespaceWaits",
        "warning",
        f"max {BY}, job_namespace, reason) "
        f'(paddlejob_namespace_longest_wait_seconds{{reason!="Queued"}}) > {{limit}}',
        MINUTE,
        "A PaddleJob of {{ $labels.job_namespace }} has waited for too long: {{ $labels.reason }}",
        "The longest wait is {{ $value | humanizeDuration }}.",
        (("limit", HOUR),),
    ),
    Alert(
        "PaddleJobNamespaceFails",
        "warning",
        f"sum {BY}, job_namespace) (paddlejob_namespace_failed_total) "
        f"- (sum {BY}, job_namespace) (paddlejob_namespace_failed_total offset {{window}}s) "
        f"or 0 * sum {BY}, job_namespace) (paddlejob_namespace_failed_total) "
        f"and on ({OF_ONE}) sum {BY}) (paddlejob_jobs offset {{window}}s)) > {{limit}}",
        5 * MINUTE,
        "PaddleJobs of {{ $labels.job_namespace }} fail",
        "{{ $value | humanize }} jobs have failed in an hour.",
        (("window", HOUR),),
        3,
    ),
    Alert(
        "PaddleJobRestartsStorming",
        "warning",
        f"sum {BY}) (increase(paddlejob_restarted_total[{{window}}])) "
        f"  > {{limit}} + 0.2 * max {BY}) (sum {BY}, instance)"
        ' (paddlejob_jobs{phase!~"Completed|Failed"}))',
        0,
        "PaddleJobs restart all the time",
        "{{ $value | humanize }} attempts have been lost in a quarter of an hour.",
        (("window", 15 * MINUTE),),
        10,
    ),
    Alert(
        "PaddleJobWritesRefused",
        "warning",
        f"max {BY}, reason) (paddlejob_waiting_jobs"
        '{reason=~"Create(Refused|Unanswered)|DeleteRefused|PatchRefused|NameConflict"}) > {limit}',
        10 * MINUTE,
        "The API server refuses what PaddleJobs need: {{ $labels.reason }}",
        "{{ $value }} jobs have waited for ten minutes, because the API server refuses to create, "
        "change or delete an object of theirs.",
        count=0,
    ),
    Alert(
        "PaddleJobEventsDropped",
        "info",
        f"sum {BY}, cause) (increase(paddlejob_events_dropped_total[{{window}}])) > {{limit}}",
        0,
        "Kubernetes Events of PaddleJobs are dropped: {{ $labels.cause }}",
        "{{ $value | humanize }} in a quarter of an hour. Jobs go on, but some of their Events "
        "are missing.",
        (("window", 15 * MINUTE),),
        0,
    ),
)


LIMITS = {
    alert.name: int(alert.limit) if alert.limit % 1 == 0 else alert.limit
    for alert in ALERTS
    if alert.limit is not None
}
"""The limits that the chart's values set: seconds, numbers, and shares of the passes."""


def build_rules(scale: float = 1.0, limits: Mapping[str, float] | None = None) -> Raw:
    """The file of rules. `scale` multiplies every duration, and `limits` replaces single limits, by
    the alert's name: tests make them shorter.
    """
    scaled = {
        alert.name: alert.limit * (scale if alert.count is None else 1)
        for alert in ALERTS
        if alert.limit is not None
    }
    return _rules(
        scale, {name: f"{limit:g}" for name, limit in (scaled | dict(limits or {})).items()}
    )


def build_chart_rules() -> Raw:
    """The same rules, with placeholders for the chart's limits."""
    return _rules(1.0, {name: limit_place(name) for name in LIMITS})


def limit_place(alert: str) -> str:
    """The chart's placeholder for an alert's limit."""
    return f"@{alert}@"


def _rules(scale: float, limits: Mapping[str, str]) -> Raw:
    records = [_record(seconds, scale) for seconds in WINDOWS]
    alerts = [_rule(alert, scale, limits.get(alert.name, "")) for alert in ALERTS]
    return {
        "groups": [{"name": f"{GROUP}-aims", "rules": records}, {"name": GROUP, "rules": alerts}]
    }


def _record(seconds: float, scale: float) -> Raw:
    """The rule that records the share of late passes in a window; it is NaN without any pass."""
    window = f"[{duration(seconds * scale)}]"
    counts = "workqueue_queue_duration_seconds"
    in_time = f'{counts}_bucket{{controller="paddlejob",le=~"1|1.0"}}{window}'
    every = f'{counts}_count{{controller="paddlejob"}}{window}'
    query = f"1 - sum {BY}) (rate({in_time})) / sum {BY}) (rate({every}))"
    return {"record": f"{LATE}{duration(seconds)}", "expr": query}


def _rule(alert: Alert, scale: float, limit: str) -> Raw:
    rule: Raw = {"alert": alert.name, "expr": _query(alert, scale, limit)}
    if alert.for_seconds:
        rule["for"] = duration(alert.for_seconds * scale)
    rule["labels"] = {"severity": alert.severity}
    rule["annotations"] = {
        "summary": alert.summary,
        "description": alert.description,
        "runbook_url": alert.anchor,
    }
    return rule


def _query(alert: Alert, scale: float, limit: str) -> str:
    """The query with its limit and durations. Durations outside square brackets are in seconds."""
    query = alert.query.replace("{limit}", limit)
    for name, seconds in alert.spans:
        query = query.replace(f"[{{{name}}}]", f"[{duration(seconds * scale)}]")
        query = query.replace(f"{{{name}}}", f"{seconds * scale:g}")
    return " ".join(query.split())


def duration(seconds: float) -> str:
    """A duration as Prometheus writes it, in the largest unit that divides it: `5m`, `1d`."""
    milliseconds = round(seconds * 1000)
    units = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
    unit, size = next(each for each in units if milliseconds % each[1] == 0)
    return f"{milliseconds // size}{unit}"
