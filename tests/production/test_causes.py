"""Each alert is fired by its cause in a real Prometheus, its runbook is followed, and it goes.

Hours are minutes, and the two limits that this does not suit are given. One cluster and one
Prometheus serve all rows of tests/production/causes.py; those that take long begin at once.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.commands.manifests import install
from manifests.alerts import ALERTS
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.installers import CHART, NAMESPACE, RELEASE, Helm
from tests.live.lab import Lab
from tests.live.operated import DEPLOYMENT, SOON_LOST, install_crd
from tests.live.prometheus import Prometheus, let_read
from tests.production import causes
from tests.production.causes import LOST_NODE
from tests.production.watched import Rival, Row, World

pytestmark = [pytest.mark.cluster]

SCALE = 1 / 60
LIMITS = {
    "PaddleJobWatchSilent": 80.0,  # a watch that works brings a bookmark each minute
    "PaddleJobsQueuedTooLong": 30.0,
}
VALUES = {
    "crds": {"install": False},
    "kueue": {"enabled": True},
    "progress": {"enabled": True},
    "strategy": {"type": "Recreate"},
    "operator": {"metricsByNamespace": True, "forceDeleteAfter": 1},
}
KUEUE = Path(__file__).parents[1] / "live" / "crds" / "kueue-workload.yaml"
MONITORING = "monitoring"
INSTALL = ("install", RELEASE, str(CHART), "--create-namespace", "--wait", patience.IN_KUBECTL)
FIRST = [
    causes.the_right_to_events_is_taken,
    causes.a_webhook_of_the_status_is_down,
    causes.a_webhook_hangs,
    causes.a_node_dies_whose_pods_tolerate_all,
    causes.the_data_that_all_share_is_gone,
    causes.somebody_deletes_pods,
    causes.pod_security_refuses,
    causes.quota_is_not_given,
    causes.the_api_servers_clock_differs,
    causes.something_drops_what_is_said_of_pods,
    causes.another_operator_leads,
    causes.quota_of_the_namespace_is_too_small,
]
LAST = [
    causes.prometheus_has_another_token,
    causes.a_worker_hangs,
    causes.the_right_to_leases_is_taken,
    causes.the_operator_does_not_start,
]
"""Metrics are not there for a while, and counters begin anew: by then the others have gone."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """All causes that take long have begun."""
    with ExitStack() as stack:
        config = ClusterConfig(nodes=2, renew_seconds=2.0, component_arguments=SOON_LOST)
        cluster = stack.enter_context(Cluster(config))
        cluster.kubectl("taint", "node", LOST_NODE, "kept=free:NoSchedule")
        install_crd(cluster)
        install(cluster, KUEUE)
        rivals = stack.enter_context(new_namespace(cluster))
        rival = Rival(cluster, rivals, tmp_path_factory.mktemp("rival"), stack)
        Lab(cluster, rivals).wait(lambda: rival.readyz()[0] == 200, "the rival is ready")
        Helm(cluster).run(*INSTALL, values=VALUES)
        cluster.kubectl("create", "namespace", MONITORING)
        let_read(cluster, MONITORING, "prometheus", NAMESPACE, f"{DEPLOYMENT}-metrics-reader")
        account, folder = (MONITORING, "prometheus"), tmp_path_factory.mktemp("prometheus")
        beside = {rivals: rival.metrics}
        prometheus = Prometheus(cluster, folder, account, SCALE, LIMITS, beside)
        stack.enter_context(closing(prometheus))
        prometheus.wait_for("up == 1")
        found = World(cluster, prometheus, rival, stack)
        for row in LAST + FIRST:
            if row.early:
                found.begin(row)
        yield found


def test_every_alert_has_a_cause() -> None:
    assert {name for row in FIRST + LAST for name in row.alerts} == {a.name for a in ALERTS}


def check(world: World, row: Row) -> None:
    world.begin(row)
    world.cure(row)
    if not row.late:
        world.wait_gone(row)


@pytest.mark.parametrize("row", FIRST, ids=lambda row: row.name)
def test_cause_fires_its_alert_and_the_runbook_cures_it(world: World, row: Row) -> None:
    check(world, row)


@pytest.mark.parametrize("row", [r for r in FIRST if r.late], ids=lambda row: row.name)
def test_alert_about_the_last_minutes_goes(world: World, row: Row) -> None:
    world.wait_gone(row)


@pytest.mark.parametrize("row", LAST, ids=lambda row: row.name)
def test_the_last_ones_too(world: World, row: Row) -> None:
    check(world, row)
