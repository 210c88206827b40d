"""One headless Service per pod, for `intranet: Service`."""

from reconcile.children.children import SERVICES_AHEAD
from tests.memory.builders import a_job

SERVICE = {"intranet": "Service"}


def test_refused_pods_have_few_services(world):
    world.submit(a_job().with_workers(10 * SERVICES_AHEAD).with_spec(**SERVICE))
    world.refused_kinds = {"Pod"}
    world.settle()
    world.after(3600)
    assert len(world.names("Service")) == SERVICES_AHEAD


def test_service_survives_an_attempt(world):
    world.run(a_job().with_workers(1).with_spec(**SERVICE))
    before = world.get("Service", "train-worker-0")
    world.kubelet.vanish("train-worker-0")
    world.settle()
    world.advance(60)
    world.run()
    assert world.status()["attempt"] == 2
    assert world.get("Service", "train-worker-0") == before


def test_service_of_a_worker_that_is_no_more_goes(world):
    world.begin(a_job().with_workers(2).with_spec(suspend=True, **SERVICE))
    world.amend(suspend=False)
    world.amend(suspend=True)
    world.amend(suspend=False, worker=world.job()["spec"]["worker"] | {"replicas": 1})
    assert world.names("Service") == ["train-worker-0"]
