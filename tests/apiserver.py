"""Requests to the real API server, faster than a kubectl each; the answers as they are."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import urllib3
import yaml

from api.constants import API_VERSION, PLURAL
from localcluster import Cluster

Raw = dict[str, Any]
STRICT = "fieldValidation=Strict"
DRY_RUN = "dryRun=All"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server answered: an object, or a Status that says what is wrong."""

    status: int
    body: Raw

    @property
    def is_ok(self) -> bool:
        """Whether it did what it was asked."""
        return self.status < 300

    @property
    def message(self) -> str:
        """Why not."""
        return "" if self.is_ok else str(self.body["message"])


class ApiServer:
    """The cluster's API server, as its administrator, on connections that stay open."""

    def __init__(self, cluster: Cluster) -> None:
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        self._server = config["clusters"][0]["cluster"]["server"]
        self._token = config["users"][0]["user"]["token"]
        self._pool = urllib3.PoolManager(ca_certs=str(cluster.ca_file))

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def create(self, path: str, body: Raw, *query: str) -> Answer:
        """POST to a collection; an unknown field is an error."""
        return self._call("POST", "&".join((f"{path}?{STRICT}", *query)), body, "application/json")

    def merge_patch(self, path: str, body: Raw) -> Answer:
        """Apply a JSON merge patch; an unknown field is an error."""
        return self._call("PATCH", f"{path}?{STRICT}", body, "application/merge-patch+json")

    def create_namespace(self) -> str:
        """A new namespace's name."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        answer = self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        assert answer.is_ok, answer.message
        return name

    def _call(self, method: str, path: str, body: Raw, content_type: str) -> Answer:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        response = self._pool.request(
            method, self._server + path, body=json.dumps(body), headers=headers, timeout=30.0
        )
        return Answer(response.status, json.loads(response.data))


def jobs_path(namespace: str, name: str = "", subresource: str = "") -> str:
    """The path of a namespace's jobs, or of one."""
    parts = [f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}", name, subresource]
    return "/".join(part for part in parts if part)
