"""The few API calls that starting a cluster takes: JSON over HTTPS with a bearer token."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 5.0
CONFLICT = 409


class RestError(Exception):
    """The server answered with an error; `status` is the HTTP one."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RestClient:
    """Calls one server. Each call has its own connection, so any thread may call."""

    def __init__(self, server: str, ca_file: Path, token: str = "") -> None:
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=str(ca_file))
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def is_ok(self, path: str) -> bool:
        """Whether GET answers 200; no answer at all is a no."""
        try:
            self._request("GET", path, None)
        except (OSError, http.client.HTTPException, RestError):
            return False
        return True

    def get(self, path: str) -> Any:
        """The JSON at the path; raises RestError or OSError."""
        return json.loads(self._request("GET", path, None))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Create something; raises RestError or OSError."""
        return json.loads(self._request("POST", path, body))

    def merge_patch(self, path: str, body: dict[str, Any]) -> Any:
        """Change something by a JSON merge patch; raises RestError or OSError."""
        return json.loads(self._request("PATCH", path, body, "application/merge-patch+json"))

    def _request(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        content_type: str = "application/json",
    ) -> bytes:
        connection = http.client.HTTPSConnection(
            self._address, timeout=TIMEOUT_SECONDS, context=self._context
        )
        try:
            content = None if body is None else json.dumps(body)
            headers = {**self._headers, "Content-Type": content_type}
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if response.status >= http.client.BAD_REQUEST:
            raise RestError(response.status, answer.decode(errors="replace"))
        return answer
