"""ServiceAccount tokens for pods, requested from the API server and renewed before they expire.

Used by one pod's worker thread.
"""

import math
from dataclasses import dataclass, field

from localcluster.client.rest import Raw, ServerClient
from localcluster.machine import clock

DEFAULT_SECONDS = 3600
RENEW_AT = 0.8  # of a token's life, as in a kubelet


@dataclass
class Tokens:
    """The tokens of one pod, by audience and lifetime."""

    client: ServerClient
    pod: Raw
    _tokens: dict[tuple[str, int], tuple[str, float]] = field(default_factory=dict)
    """Each token, and the time on the monotonic clock when to request a new one."""

    def get(self, projection: Raw) -> str:
        """The token for a serviceAccountToken projection, requested if needed. Raises ApiError."""
        audience = projection.get("audience", "")
        seconds = int(projection.get("expirationSeconds") or DEFAULT_SECONDS)
        token, renew_at = self._tokens.get((audience, seconds), ("", 0.0))
        if clock.monotonic() >= renew_at:
            token, renew_at = self._request(audience, seconds)
            self._tokens[audience, seconds] = token, renew_at
        return token

    @property
    def renew_at(self) -> float:
        """The earliest time to renew a token, on the monotonic clock; infinity without tokens."""
        return min((renew_at for _, renew_at in self._tokens.values()), default=math.inf)

    def _request(self, audience: str, seconds: int) -> tuple[str, float]:
        metadata = self.pod["metadata"]
        account = self.pod["spec"].get("serviceAccountName") or "default"
        spec: Raw = {
            "audiences": [audience] if audience else [],
            "expirationSeconds": seconds,
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        answer = self.client.create(path, {"spec": spec})
        granted = answer["spec"]["expirationSeconds"]
        return answer["status"]["token"], clock.monotonic() + RENEW_AT * min(seconds, granted)
