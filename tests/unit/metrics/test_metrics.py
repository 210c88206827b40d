"""Names that dashboards know, totals from zero, and labels that stay few."""

import pytest

from metrics import Census, Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def text(metrics: Metrics) -> str:
    return metrics.exposition("")[0].decode()


KNOWN = [
    'controller_runtime_reconcile_total{controller="paddlejob",result="success"}',
    'controller_runtime_reconcile_total{controller="paddlejob",result="requeue_after"}',
    'controller_runtime_reconcile_errors_total{controller="paddlejob"}',
    'controller_runtime_terminal_reconcile_errors_total{controller="paddlejob"}',
    'controller_runtime_reconcile_panics_total{controller="paddlejob"}',
    'controller_runtime_reconcile_time_seconds_count{controller="paddlejob"}',
    'controller_runtime_max_concurrent_reconciles{controller="paddlejob"}',
    'controller_runtime_active_workers{controller="paddlejob"}',
    'workqueue_depth{controller="paddlejob",name="paddlejob"}',
    'workqueue_adds_total{controller="paddlejob",name="paddlejob"}',
    'workqueue_queue_duration_seconds_count{controller="paddlejob",name="paddlejob"}',
    'workqueue_work_duration_seconds_count{controller="paddlejob",name="paddlejob"}',
    'workqueue_unfinished_work_seconds{controller="paddlejob",name="paddlejob"}',
    'workqueue_longest_running_processor_seconds{controller="paddlejob",name="paddlejob"}',
    'workqueue_retries_total{controller="paddlejob",name="paddlejob"}',
    'paddlejob_created_total{mode="PS"}',
    'paddlejob_completed_total{mode="Collective"}',
    'paddlejob_creation_to_running_seconds_count{mode="PS"}',
    'paddlejob_start_to_running_seconds_count{mode="PS"}',
    'paddlejob_creation_to_completion_seconds_count{mode="Single"}',
    'paddlejob_stall_to_detection_seconds_count{mode="Collective"}',
    'paddlejob_events_dropped_total{cause="buffer_full"}',
]


@pytest.mark.parametrize("series", KNOWN)
def test_a_known_series_starts_at_zero(metrics, series):
    assert f"\n{series} 0.0\n" in text(metrics)


def test_the_process_is_told(metrics):
    assert "process_resident_memory_bytes" in text(metrics)


@pytest.mark.parametrize(
    ("kind", "series"),
    [
        ("created", 'paddlejob_created_total{mode="PS"} 1.0'),
        ("completed", 'paddlejob_completed_total{mode="PS"} 1.0'),
        ("restarted", 'paddlejob_restarted_total{mode="PS",reason="r"} 1.0'),
        ("failed", 'paddlejob_failed_total{mode="PS",reason="r"} 1.0'),
        ("running", 'paddlejob_creation_to_running_seconds_sum{mode="PS"} 7.5'),
        ("started", 'paddlejob_start_to_running_seconds_sum{mode="PS"} 7.5'),
        ("completed", 'paddlejob_creation_to_completion_seconds_sum{mode="PS"} 7.5'),
        ("failed", 'paddlejob_creation_to_completion_seconds_sum{mode="PS"} 7.5'),
        ("stalled", 'paddlejob_stall_to_detection_seconds_sum{mode="PS"} 7.5'),
    ],
)
def test_an_outcome_counts_once_and_its_duration_goes_to_its_histogram(metrics, kind, series):
    metrics.jobs.record(kind, "PS", "r", 7.5)
    assert series in text(metrics)


def test_failures_and_lost_time_are_preset_and_counted_by_what_ended_the_attempt(metrics):
    metrics.jobs.preset(["BackoffLimitExceeded"], ["NodeLost"])
    labels = '{mode="PS",reason="NodeLost"}'
    assert 'paddlejob_failed_total{mode="PS",reason="BackoffLimitExceeded"} 0.0' in text(metrics)
    for name in ("lost_seconds_total", "lost_gpu_seconds_total", "restarted_total"):
        assert f"paddlejob_{name}{labels} 0.0" in text(metrics)
    metrics.jobs.record("lost", "PS", "NodeLost", 2.5, 8)
    assert f"paddlejob_lost_seconds_total{labels} 2.5" in text(metrics)
    assert f"paddlejob_lost_gpu_seconds_total{labels} 20.0" in text(metrics)


def test_a_reconcile_is_counted_by_its_result(metrics):
    metrics.reconcile.started()
    metrics.reconcile.finished("error", 0.25)
    assert 'reconcile_total{controller="paddlejob",result="error"} 1.0' in text(metrics)
    assert 'reconcile_errors_total{controller="paddlejob"} 1.0' in text(metrics)
    assert 'active_workers{controller="paddlejob"} 0.0' in text(metrics)


def test_state_is_counted_at_every_scrape(metrics):
    jobs: dict[tuple[str, str], int] = {}
    waits = {("PS", "QuotaExceeded"): 4}
    census = Census(jobs, {("ps", "Running"): 3}, waits, {("PS", "QuotaExceeded"): 9.5})
    metrics.count_state(lambda: census)
    jobs[("Running", "PS")] = 2
    assert 'paddlejob_jobs{mode="PS",phase="Running"} 2.0' in text(metrics)
    assert 'paddlejob_pods{phase="Running",role="ps"} 3.0' in text(metrics)
    labels = '{mode="PS",reason="QuotaExceeded"}'
    assert f"paddlejob_waiting_jobs{labels} 4.0" in text(metrics)
    assert f"paddlejob_longest_wait_seconds{labels} 9.5" in text(metrics)


def test_two_operators_in_one_process_do_not_mix(metrics):
    Metrics().jobs.record("created", "PS", "", None)
    assert 'paddlejob_created_total{mode="PS"} 0.0' in text(metrics)


def test_no_time_of_creation_doubles_the_series(metrics):
    assert "_created{" not in text(metrics)


def test_the_build_is_one_series(metrics: Metrics) -> None:
    metrics.describe_build("1.0", "0123abc")
    assert 'paddlejob_build_info{revision="0123abc",version="1.0"} 1.0\n' in text(metrics)
