"""The client of the page's user, built again from the kubeconfig after a login was refused.

The page stays with the cluster that it was opened for. It keeps its context when the kubeconfig's
current context changes. If its context gets another server, the page refuses that server.
"""

import threading

from api.constants import GROUP, PLURAL
from kube.client import Client
from kube.errors import Unauthorized
from pdj.access.connection import open_client
from pdj.access.kubeconfig import Target, load_target
from pdj.errors import Problem
from pdj.session import Session

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
VERBS = ("patch", "delete")


class Access:
    """Builds clients. Any thread may use it."""

    def __init__(self, session: Session) -> None:
        self._kubeconfig: str | None = session.options.kubeconfig
        self._target = session.target
        self._lock = threading.Lock()
        """Guards _client."""
        self._client: Client | None = session.client

    def client(self) -> Client:
        """The client. Raises Problem if the kubeconfig became unusable or names another server."""
        with self._lock:
            if self._client is None:
                self._client = open_client(self._reload())
            return self._client

    def refuse(self, error: Exception) -> None:
        """Read the kubeconfig again for the next client, if this error is about the login."""
        if isinstance(error, Unauthorized):
            with self._lock:
                self._client = None

    def _reload(self) -> Target:
        """The same context of the same kubeconfig, with the credentials that it has now."""
        target = load_target(self._kubeconfig, self._target.context or None)
        before, now = (each.cluster.get("server") for each in (self._target, target))
        if before != now:
            named = f"context {target.context!r}" if target.context else "default"
            raise Problem(
                f"the kubeconfig's {named} now has the server {now}, but this page uses "
                f"{before}: start `kubectl pdj ui` again"
            )
        return target


def rights_of(client: Client, namespace: str, name: str) -> dict[str, bool]:
    """Which verbs the API server allows the user on this job."""
    return {verb: _may(client, namespace, name, verb) for verb in VERBS}


def _may(client: Client, namespace: str, name: str, verb: str) -> bool:
    what = {"group": GROUP, "resource": PLURAL, "namespace": namespace, "name": name, "verb": verb}
    review = client.create(REVIEWS, {"spec": {"resourceAttributes": what}})
    return bool((review.get("status") or {}).get("allowed"))
