"""What the API server repeats of a tenant's object does not fill the operator's log."""

from localcluster import Cluster
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import DEPLOYMENT, NAMESPACE
from tests.live.tenant import Tenant

SELECTOR_CHARACTERS = 300_000
MAX_LOG_BYTES = 4096


def test_a_refusal_of_any_length_is_logged_in_a_few_words(operated: Cluster, lab: Lab) -> None:
    tenant = Tenant(operated, lab.namespace)
    template = shell("true")
    template["spec"]["nodeSelector"] = {"pool": "x" * SELECTOR_CHARACTERS}
    tenant.submit(paddle_job("long", {"worker": (2, template)}))
    lab.wait(lambda: lab.condition("long", "Pending").get("message"), "why there are no pods")

    def lines() -> list[str]:
        log = operated.kubectl("-n", NAMESPACE, "logs", f"deployment/{DEPLOYMENT}").stdout
        return [line for line in log.splitlines() if lab.namespace in line]

    lab.wait(lambda: any("create_refused" in line for line in lines()), "it is logged")
    assert sum(map(len, lines())) < MAX_LOG_BYTES
