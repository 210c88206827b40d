"""With --metrics-by-namespace: whose jobs, in series that stay few."""

from metrics import Metrics, NamespaceCensus
from metrics.namespaces import MAX_NAMESPACES, largest
from tests.unit.metrics.test_metrics import text


def test_each_team_has_its_own_series_and_the_totals_stay():
    metrics = Metrics()
    census = NamespaceCensus(
        {("team-a", "Running"): 2, ("team-a", "Failed"): 0},
        {("team-a", "held"): 16},
        {("team-b", "Unschedulable"): 30.5},
    )
    metrics.count_namespaces(lambda: census)
    metrics.record_outcome("team-a", ("failed", "PS", "PodFailed", 9.0, 0))
    metrics.record_outcome("team-b", ("restarted", "PS", "NodeLost", None, 0))
    metrics.record_outcome("team-b", ("lost", "PS", "NodeLost", 2.5, 8))
    found = text(metrics)
    for series in (
        'jobs{job_namespace="team-a",phase="Running"} 2.0',
        'gpus{job_namespace="team-a",state="held"} 16.0',
        'longest_wait_seconds{job_namespace="team-b",reason="Unschedulable"} 30.5',
        'failed_total{job_namespace="team-a",reason="PodFailed"} 1.0',
        'restarted_total{job_namespace="team-b",reason="NodeLost"} 1.0',
        'lost_gpu_seconds_total{job_namespace="team-b",reason="NodeLost"} 20.0',
    ):
        assert f"\npaddlejob_namespace_{series}\n" in found
    assert "} 0.0" not in "".join(x for x in found.splitlines() if "_namespace_" in x)
    assert 'paddlejob_failed_total{mode="PS",reason="PodFailed"} 1.0' in found


def test_without_the_flag_no_namespace_is_named():
    metrics = Metrics()
    metrics.record_outcome("team-a", ("failed", "PS", "PodFailed", 9.0, 0))
    assert "team-a" not in text(metrics)


def test_the_namespaces_with_most_are_kept_whole():
    values = {(f"n{number}", "x"): float(number) for number in range(MAX_NAMESPACES + 50)}
    values[("n0", "y")] = 1000.0
    kept = {key[0] for key, _ in largest(values)}
    assert len(kept) == MAX_NAMESPACES
    assert "n0" in kept
    assert "n1" not in kept
