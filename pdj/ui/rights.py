"""What the page's user may do with a job."""

from api.constants import GROUP, PLURAL
from kube.client import Client

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
VERBS = ("patch", "delete")


def rights_of(client: Client, namespace: str, name: str) -> dict[str, bool]:
    """Which verbs the API server allows the user on this job."""
    return {verb: _may(client, namespace, name, verb) for verb in VERBS}


def _may(client: Client, namespace: str, name: str, verb: str) -> bool:
    what = {"group": GROUP, "resource": PLURAL, "namespace": namespace, "name": name, "verb": verb}
    review = client.create(REVIEWS, {"spec": {"resourceAttributes": what}})
    return bool((review.get("status") or {}).get("allowed"))
