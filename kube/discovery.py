"""Which kinds the API server serves.

A kind that is not served answers `404 page not found` in plain text: the words of a proxy that has
lost its backend, too. So what is absent is asked for here, where the API server answers in objects.
Any thread may call.
"""

from api.objects import Raw
from kube.client import Client
from kube.errors import Transient


def is_served(client: Client, api_version: str, plural: str) -> bool:
    """Whether the API server names the kind. Raises ApiError where it does not answer that."""
    if "/" not in api_version:
        return True  # without the core group it is no Kubernetes
    groups = _ask(client, "/apis", "APIGroupList").get("groups") or ()
    versions = {each["groupVersion"] for group in groups for each in group["versions"]}
    if api_version not in versions:
        return False
    kinds = _ask(client, f"/apis/{api_version}", "APIResourceList").get("resources") or ()
    return any(kind["name"] == plural for kind in kinds)


def _ask(client: Client, path: str, kind: str) -> Raw:
    answer = client.get(path)
    if answer.get("kind") != kind:
        raise Transient(f"{path} is no {kind}")
    return answer
