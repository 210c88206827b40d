"""ConfigMaps and Secrets for pods, read from the API server when a container starts.

Any thread may call. Nothing is kept: a start that waits for an object asks again.
"""

import base64

from localcluster.node.client import ApiError, Client, Raw
from localcluster.node.env import Content


class ApiObjects:
    """What the API server has now."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def config_map(self, namespace: str, name: str) -> Content | None:
        """The content of a ConfigMap by key, None when there is none."""
        found = self._get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        if found is None:
            return None
        text = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        return text | _decoded(found.get("binaryData"))

    def secret(self, namespace: str, name: str) -> Content | None:
        """The content of a Secret by key, decoded; None when there is none."""
        found = self._get(f"/api/v1/namespaces/{namespace}/secrets/{name}")
        return None if found is None else _decoded(found.get("data"))

    def _get(self, path: str) -> Raw | None:
        try:
            return self._client.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise


def _decoded(data: dict[str, str] | None) -> Content:
    return {key: base64.b64decode(value) for key, value in (data or {}).items()}
