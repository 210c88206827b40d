"""The dashboard, made with Grafana's own builders. Its panels are listed here and nowhere else.

The variable `job` of the dashboard selects jobs of Prometheus. If all replicas report a value, the
highest is shown.
"""

import itertools
import json
from dataclasses import dataclass

from grafana_foundation_sdk.builders import prometheus, timeseries
from grafana_foundation_sdk.builders.common import VizLegendOptions, VizTooltipOptions
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    Row,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    LegendDisplayMode,
    LegendPlacement,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

TITLE = "PaddleJobs"
UID = "paddlejobs"
OURS = 'controller="paddlejob"'
WIDTH, HEIGHT = 8, 8
"""Three panels in a row of 24 columns."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and the legend of its series."""

    text: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart over time. `unit` is the name of a unit in Grafana."""

    title: str
    unit: str
    queries: tuple[Query, ...]


def _of(metric: str, *more: str, over: str = "") -> str:
    """A selector for the metric in the selected jobs of Prometheus; `over` is a time range."""
    conditions = ", ".join(('job=~"$job"', *more))
    return f"{metric}{{{conditions}}}" + (f"[{over}]" if over else "")


def _rate(metric: str, by: str, *more: str) -> str:
    return f"sum by ({by}) (rate({_of(metric, *more, over='$__rate_interval')}))"


def _hourly(metric: str, by: str) -> str:
    return f"sum by ({by}) (increase({_of(metric, over='1h')}))"


def _there_are(metric: str, by: str, *more: str) -> str:
    """The query for the sum by these labels in each replica, of which the highest is shown."""
    return f"max by ({by}) (sum by ({by}, instance) ({_of(metric, *more)}))"


def _quantiles(metric: str) -> tuple[Query, ...]:
    """Median and 95th percentile of a histogram."""
    buckets = _rate(f"{metric}_bucket", "le")
    shares = {"median": 0.5, "95 %": 0.95}
    return tuple(Query(f"histogram_quantile({q}, {buckets})", name) for name, q in shares.items())


def _panel(title: str, unit: str, text: str, legend: str) -> Panel:
    return Panel(title, unit, (Query(text, legend),))


ROWS: dict[str, tuple[Panel, ...]] = {
    "Jobs": (
        _panel("Jobs by phase", "short", _there_are("paddlejob_jobs", "phase"), "{{phase}}"),
        _panel(
            "Jobs that have not ended, by mode",
            "short",
            _there_are("paddlejob_jobs", "mode", 'phase!~"Completed|Failed"'),
            "{{mode}}",
        ),
        Panel(
            "Ended in the last hour",
            "short",
            (
                Query(_hourly("paddlejob_completed_total", "job"), "completed"),
                Query(_hourly("paddlejob_failed_total", "reason"), "failed: {{reason}}"),
            ),
        ),
    ),
    "Time to running": (
        Panel(
            "From creation until all pods run",
            "s",
            _quantiles("paddlejob_creation_to_running_seconds"),
        ),
        Panel(
            "From start until all pods run, without time in a queue",
            "s",
            _quantiles("paddlejob_start_to_running_seconds"),
        ),
        Panel(
            "From creation to the end", "s", _quantiles("paddlejob_creation_to_completion_seconds")
        ),
        _panel(
            "Created in the last hour",
            "short",
            _hourly("paddlejob_created_total", "mode"),
            "{{mode}}",
        ),
    ),
    "Restarts and what they cost": (
        _panel(
            "Restarts in the last hour",
            "short",
            _hourly("paddlejob_restarted_total", "mode"),
            "{{mode}}",
        ),
        _panel(
            "Time without training in the last hour",
            "s",
            _hourly("paddlejob_lost_seconds_total", "reason"),
            "{{reason}}",
        ),
        _panel(
            "GPU time without training in the last hour",
            "s",
            _hourly("paddlejob_lost_gpu_seconds_total", "reason"),
            "{{reason}}",
        ),
    ),
    "Why jobs wait": (
        _panel(
            "Waiting jobs", "short", _there_are("paddlejob_waiting_jobs", "reason"), "{{reason}}"
        ),
        _panel(
            "Longest wait",
            "s",
            f"max by (reason) ({_of('paddlejob_longest_wait_seconds')})",
            "{{reason}}",
        ),
        _panel(
            "Stalled jobs",
            "short",
            _there_are("paddlejob_waiting_jobs", "reason", 'reason=~"NoOutput|NoNewStep"'),
            "{{reason}}",
        ),
        Panel(
            "From the last step until a stall is noticed",
            "s",
            _quantiles("paddlejob_stall_to_detection_seconds"),
        ),
        _panel("Pods by phase", "short", _there_are("paddlejob_pods", "phase"), "{{phase}}"),
    ),
    "The operator": (
        _panel("Leads", "bool_yes_no", _of("leader_election_master_status"), "{{instance}}"),
        _panel(
            "Jobs that wait for a worker",
            "short",
            f"max by (job) ({_of('workqueue_depth', OURS)})",
            "{{job}}",
        ),
        Panel("Time in the queue", "s", _quantiles("workqueue_queue_duration_seconds")),
        Panel("Time of a pass", "s", _quantiles("controller_runtime_reconcile_time_seconds")),
        _panel(
            "Passes by result",
            "ops",
            _rate("controller_runtime_reconcile_total", "result"),
            "{{result}}",
        ),
        Panel(
            "Failed passes",
            "ops",
            (
                Query(_rate("controller_runtime_reconcile_errors_total", "job"), "tried again"),
                Query(
                    _rate("controller_runtime_terminal_reconcile_errors_total", "job"),
                    "refused by the API server",
                ),
                Query(_rate("controller_runtime_reconcile_panics_total", "job"), "exceptions"),
            ),
        ),
        _panel(
            "Time since a watch received anything",
            "s",
            f"max by (kind) ({_of('paddlejob_watch_last_event_age_seconds')})",
            "{{kind}}",
        ),
        _panel("Memory", "bytes", _of("process_resident_memory_bytes"), "{{instance}}"),
        _panel("CPU", "short", _rate("process_cpu_seconds_total", "instance"), "{{instance}}"),
    ),
    "The API server": (
        _panel(
            "Requests by method",
            "reqps",
            _rate("rest_client_requests_total", "method"),
            "{{method}}",
        ),
        _panel(
            "Requests by answer", "reqps", _rate("rest_client_requests_total", "code"), "{{code}}"
        ),
        _panel(
            "Events dropped", "ops", _rate("paddlejob_events_dropped_total", "cause"), "{{cause}}"
        ),
    ),
}


def render_dashboard() -> str:
    """The dashboard as Grafana imports it."""
    made = (
        Dashboard(TITLE)
        .uid(UID)
        .tags(["paddlejob", "paddlepaddle"])
        .time("now-6h", "now")
        .refresh("1m")
        .readonly()
        .with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(
            QueryVariable("job")
            .label("Job of Prometheus")
            .datasource(_source())
            .query("label_values(paddlejob_created_total, job)")
            .refresh(VariableRefresh.ON_DASHBOARD_LOAD)
            .include_all(True)
            .multi(True)
        )
    )
    ids = itertools.count(1)
    for title, panels in ROWS.items():
        made = made.with_row(Row(title).id(next(ids)))
        for panel in panels:
            made = made.with_panel(_build(panel).id(next(ids)))
    whole = json.loads(json.dumps(made.build(), cls=JSONEncoder))
    for variable in whole["templating"]["list"]:
        for name in [name for name in variable if name.startswith("auto")]:
            del variable[name]  # the builders write fields that only interval variables have
    return json.dumps(whole, sort_keys=True, indent=2) + "\n"


def _source() -> DataSourceRef:
    return DataSourceRef(type_val="prometheus", uid="${datasource}")


def _build(panel: Panel) -> timeseries.Panel:
    legend = VizLegendOptions().display_mode(LegendDisplayMode.LIST).show_legend(True)
    built = (
        timeseries.Panel()
        .title(panel.title)
        .unit(panel.unit)
        .min(0)
        .datasource(_source())
        .height(HEIGHT)
        .span(WIDTH)
        .legend(legend.placement(LegendPlacement.BOTTOM).calcs([]))
        .tooltip(VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
    )
    for letter, query in zip("ABC", panel.queries, strict=False):
        target = prometheus.Dataquery().expr(query.text).legend_format(query.legend).ref_id(letter)
        built = built.with_target(target.datasource(_source()).range())
    return built
