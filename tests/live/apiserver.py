"""Requests to the real API server, faster than a kubectl each; the answers as they are."""

import uuid
from dataclasses import dataclass
from pathlib import Path

from api.constants import API_VERSION, PLURAL
from api.objects import Raw
from kube.client import JSON, MERGE_PATCH
from kube.errors import ApiError
from kube.parsing import dump_json
from localcluster import Cluster
from localcluster.client.rest import Server, ServerClient

STRICT = "fieldValidation=Strict"
DRY_RUN = "dryRun=All"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server said: nothing where it did what it was asked, or why not."""

    message: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.message


class ApiServer:
    """The cluster's API server, as its administrator or whom a kubeconfig is of.

    Connections stay open; those of a kubeconfig until `close`.
    """

    def __init__(self, cluster: Cluster, kubeconfig: Path | None = None) -> None:
        own = ServerClient(Server.from_kubeconfig(kubeconfig)) if kubeconfig else None
        self._own, self._client = own, own or cluster.client

    def close(self) -> None:
        """Close the connections of the kubeconfig's user."""
        if self._own is not None:
            self._own.close()

    def create(self, path: str, body: Raw, *query: str) -> Answer:
        """POST to a collection; an unknown field is an error."""
        return self._call("POST", "&".join((f"{path}?{STRICT}", *query)), body, JSON)

    def merge_patch(self, path: str, body: Raw) -> Answer:
        """Apply a JSON merge patch; an unknown field is an error."""
        return self._call("PATCH", f"{path}?{STRICT}", body, MERGE_PATCH)

    def create_namespace(self) -> str:
        name = f"test-{uuid.uuid4().hex[:8]}"
        answer = self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        assert answer.is_ok, answer.message
        return name

    def _call(self, method: str, path: str, body: Raw, content_type: str) -> Answer:
        try:
            self._client.send(method, path, dump_json(body), content_type)
        except ApiError as error:
            return Answer(error.message)
        return Answer()


def jobs_path(namespace: str, name: str = "", subresource: str = "") -> str:
    parts = [f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}", name, subresource]
    return "/".join(part for part in parts if part)
