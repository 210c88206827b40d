"""The API server admits, strictly, what chart and overlays make: it knows every field."""

import json
from pathlib import Path

import pytest

from api.objects import Raw
from localcluster import Cluster
from localcluster.commands.manifests import install
from localcluster.machine import clock
from tests.live import patience
from tests.live.installers import KUSTOMIZE_FOLDER, NAMESPACE, kustomize, template
from tests.production.values import SETS, TEAMS

MONITORING = Path(__file__).parents[1] / "live" / "crds" / "monitoring.yaml"
OVERLAYS = ("base", "one-namespace", "overlays/production", "overlays/progress", "overlays/teams")
STRICT = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")


@pytest.fixture(scope="module")
def prepared(cluster: Cluster) -> Cluster:
    """A cluster with the namespaces that are written into, and the Prometheus operator's kinds."""
    install(cluster, MONITORING, verb=("apply",))
    for name in (NAMESPACE, "ml-system", "monitoring", *TEAMS):
        cluster.kubectl("create", "namespace", name)
    return cluster


def admit(cluster: Cluster, objects: list[Raw]) -> None:
    """Ask whether the API server would take them; raises where it would not."""
    stream = "\n---\n".join(json.dumps(obj) for obj in objects)
    said = cluster.kubectl(*STRICT, stdin=stream)
    assert said.stdout.count("(server dry run)") == len(objects)
    assert "Warning" not in said.stderr


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_what_the_chart_makes_is_admitted(prepared: Cluster, values: Raw) -> None:
    admit(prepared, template(values))


@pytest.mark.parametrize("folder", OVERLAYS)
def test_what_kustomize_makes_is_admitted(prepared: Cluster, folder: str) -> None:
    admit(prepared, kustomize(KUSTOMIZE_FOLDER / folder))


def test_the_overlay_for_progress_goes_over_the_plain_files(prepared: Cluster) -> None:
    account = f"--as=system:serviceaccount:{NAMESPACE}:paddle-controller-manager"
    apply = ("apply", "--server-side")

    def may_read_logs() -> str:
        question = ("auth", "can-i", "get", "pods", "--subresource=log", "-n", TEAMS[0])
        return prepared.kubectl(*question, account, check=False).stdout.split()[0]

    try:
        plain = KUSTOMIZE_FOLDER.parent / "v1" / "operator-all-namespaces.yaml"
        prepared.kubectl(*apply, "-f", str(plain))
        assert may_read_logs() == "no"
        objects = kustomize(KUSTOMIZE_FOLDER / "overlays" / "progress")
        prepared.kubectl(*apply, "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))
        # The API server takes a moment to see a new binding.
        assert clock.wait_until(lambda: may_read_logs() == "yes", patience.SECONDS)
    finally:
        prepared.kubectl("-n", NAMESPACE, "delete", "deployment", "paddle-controller-manager")
