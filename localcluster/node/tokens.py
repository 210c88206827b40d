"""ServiceAccount tokens for pods, asked of the API server and renewed before they expire.

Used by one pod's worker thread.
"""

from dataclasses import dataclass

from localcluster import clock
from localcluster.node.client import Client, Raw

DEFAULT_SECONDS = 3600
RENEW_AT = 0.8  # of a token's life, as a kubelet does


@dataclass(frozen=True)
class Token:
    """A token and when, on the monotonic clock, to ask for the next."""

    text: str
    renew_at: float


class Tokens:
    """The tokens of one pod, by audience and lifetime."""

    def __init__(self, client: Client, pod: Raw) -> None:
        self._client = client
        self._pod = pod
        self._tokens: dict[tuple[str, int], Token] = {}

    def get(self, projection: Raw) -> str:
        """The token for a serviceAccountToken projection. Raises ApiError, OSError."""
        audience = projection.get("audience", "")
        seconds = int(projection.get("expirationSeconds") or DEFAULT_SECONDS)
        token = self._tokens.get((audience, seconds))
        if token is None or clock.monotonic() >= token.renew_at:
            token = self._request(audience, seconds)
            self._tokens[audience, seconds] = token
        return token.text

    @property
    def renew_at(self) -> float | None:
        """When the first token is due; None without tokens."""
        return min((token.renew_at for token in self._tokens.values()), default=None)

    def _request(self, audience: str, seconds: int) -> Token:
        metadata = self._pod["metadata"]
        account = self._pod["spec"].get("serviceAccountName") or "default"
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
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        answer = self._client.create(path, body)
        granted = answer["spec"]["expirationSeconds"]
        renew_at = clock.monotonic() + RENEW_AT * min(seconds, granted)
        return Token(answer["status"]["token"], renew_at)
