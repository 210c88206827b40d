"""A metrics server that says what a test wants, where an autoscaler looks for metrics.k8s.io.

The API server's aggregator reaches it by a Service of type ExternalName: the address is this
machine's loopback, which no EndpointSlice may hold.
"""

import datetime
import json
import ssl
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from localcluster import Cluster
from localcluster.machine.ports import HOST
from tests.live.certificates import write_certificate

GROUP = "metrics.k8s.io"
API = f"/apis/{GROUP}/v1beta1"
NAMESPACE = "kube-system"
SERVICE = "metrics-stub"


class MetricsStub:
    """Serves the same CPU usage for every pod that a query selects, until the block ends."""

    def __init__(self, cluster: Cluster, folder: Path, cpu: str) -> None:
        self._cluster = cluster
        self.cpu = cpu
        made = write_certificate(folder)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(made.certificate, made.key)
        self._server = ThreadingHTTPServer((HOST, 0), _handler_of(self))
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name=SERVICE)

    def __enter__(self) -> Self:
        self._thread.start()
        self._cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(self._registration()))
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.kubectl("delete", "apiservice", f"v1beta1.{GROUP}")
        self._cluster.kubectl("-n", NAMESPACE, "delete", "service", SERVICE)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str) -> dict[str, Any] | None:
        """The body for a GET: of the API itself, or of the pods that a query selects."""
        parts = urlsplit(path)
        if not parts.path.startswith(API):
            return None
        if parts.path == API:
            pods = {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics"}
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{GROUP}/v1beta1",
                "resources": [pods | {"verbs": ["get", "list"]}],
            }
        where = parts.path.removeprefix(API)
        pods = self._cluster.get(f"/api/v1{where}?{parts.query}")["items"]
        items = [self._metrics_of(pod) for pod in pods]
        kind = {"kind": "PodMetricsList", "apiVersion": f"{GROUP}/v1beta1"}
        return {**kind, "metadata": {"resourceVersion": "0"}, "items": items}

    def _metrics_of(self, pod: dict[str, Any]) -> dict[str, Any]:
        containers = [
            {"name": each["name"], "usage": {"cpu": self.cpu, "memory": "1Mi"}}
            for each in pod["spec"]["containers"]
        ]
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        names = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
        return {"metadata": names, "timestamp": now, "window": "1s", "containers": containers}

    def _registration(self) -> list[dict[str, Any]]:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": HOST},
        }
        port = self._server.server_address[1]
        api_service = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1beta1.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"name": SERVICE, "namespace": NAMESPACE, "port": port},
            },
        }
        return [service, api_service]


def _handler_of(stub: MetricsStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None: ...

        def do_GET(self) -> None:
            answer = stub.answer(self.path)
            body = json.dumps(answer).encode()
            self.send_response(HTTPStatus.NOT_FOUND if answer is None else HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
