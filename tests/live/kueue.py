"""Real Kueue beside a local cluster, where KUEUE_BINARY and KUEUE_CONFIG name it.

KUEUE_CONFIG is the folder of its manifests. Its webhooks are those of its own API group: jobs and
pods of others are none of its business here. The Service of the webhooks names this machine.
"""

import base64
import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import Cluster
from localcluster.cluster.components import API_SERVER
from localcluster.commands.manifests import install
from localcluster.machine import clock
from localcluster.machine.ports import HOST, claim_port
from tests.live import patience
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import grant_queues, install_without_deployment
from tests.live.processes import http_get

Raw = dict[str, Any]
BINARY, CONFIG = (os.environ.get(name, "") for name in ("KUEUE_BINARY", "KUEUE_CONFIG"))
needs_kueue = pytest.mark.skipif(
    not (BINARY and CONFIG), reason="KUEUE_BINARY and KUEUE_CONFIG are not set"
)
NAMESPACE = "kueue-system"
SERVICE, SECRET = "kueue-webhook-service", "kueue-webhook-server-cert"
GROUP = "kueue.x-k8s.io"
VERSION = f"{GROUP}/v1beta2"
API = f"/apis/{VERSION}"
NAME = "kueue"
FRAMEWORK = "PaddleJob.v1.batch.paddlepaddle.org"
VISIBILITY = "apiservice_v1beta2.yaml"
VIEWERS = ("workload", "localqueue", "pending_workloads_lq")
"""What they may see goes to the built-in roles of users."""
CERTIFICATES = Path("/visibility")
"""Where Kueue makes the certificate of its visibility API; it cannot be told another place."""
AGGREGATION = {
    API_SERVER: [
        *("--requestheader-client-ca-file=ca.crt", "--requestheader-allowed-names=localcluster"),
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        *("--proxy-client-cert-file=server.crt", "--proxy-client-key-file=server.key"),
    ]
}
"""Without it the visibility API is not told who asks, and refuses."""
SLEEP = "sleep 3600"


class Kueue:
    """Kueue in a cluster: installed once, started with one configuration or another."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.port, self._claim = claim_port()
        self.health, self._other_claim = claim_port()
        self.certificates = cluster.folder / "kueue-certificates"
        self.certificates.mkdir()

    def close(self) -> None:
        """Give its ports back; it ends with its cluster."""
        self._claim.close()
        self._other_claim.close()

    def install(self) -> None:
        """Its kinds, its webhooks, and what its certificates need."""
        metadata = {"name": SERVICE, "namespace": NAMESPACE}
        service = {"type": "ExternalName", "externalName": "localhost"}
        secret = {"name": SECRET, "namespace": NAMESPACE}
        documents: list[Raw] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service},
            {"apiVersion": "v1", "kind": "Secret", "metadata": secret},
        ]
        for path in sorted(Path(CONFIG).glob("components/crd/bases/*.yaml")):
            crd = yaml.safe_load(path.read_text())
            webhook = {"clientConfig": self._client("/convert"), "conversionReviewVersions": ["v1"]}
            if len(crd["spec"]["versions"]) > 1:
                crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
            documents.append(crd)
        webhooks = Path(CONFIG) / "components" / "webhook" / "manifests.yaml"
        for each in yaml.safe_load_all(webhooks.read_text()):
            each["metadata"]["name"] = f"kueue-{each['metadata']['name']}"
            each["webhooks"] = [w for w in each["webhooks"] if GROUP in w["rules"][0]["apiGroups"]]
            for webhook in each["webhooks"]:
                webhook["clientConfig"] = self._client(webhook["clientConfig"]["service"]["path"])
            documents.append(each)
        install(self.cluster, stdin=yaml.safe_dump_all(documents))

    def _client(self, path: str) -> Raw:
        service = {"name": SERVICE, "namespace": NAMESPACE, "path": path, "port": self.port}
        return {"service": service}

    def start(self, **settings: Any) -> None:
        """Run it with these settings beside those that it needs; returns when it is ready."""
        config = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"{HOST}:{self.health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": HOST, "port": self.port, "certDir": str(self.certificates)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": SERVICE,
                "webhookSecretName": SECRET,
            },
            "integrations": {
                "frameworks": ["batch/job"],
                "externalFrameworks": [FRAMEWORK],
            },
            "featureGates": {"VisibilityOnDemand": False},
            **settings,
        }
        path = self.cluster.folder / "kueue.yaml"
        path.write_text(yaml.safe_dump(config))
        command = [BINARY, f"--config={path}", f"--kubeconfig={self.cluster.kubeconfig}"]
        self.cluster.run_beside(NAME, command, self.cluster.folder)
        if not clock.wait_until(self._is_ready, patience.SECONDS):
            raise AssertionError(self.cluster.log(NAME).read_text()[-4000:])

    def restart(self, **settings: Any) -> None:
        self.cluster.stop(NAME)
        self.start(**settings)

    @contextlib.contextmanager
    def visible(self) -> Iterator[None]:
        """Run it with its visibility API and the roles of those who may see it."""
        folder, (port, claim) = Path(CONFIG) / "components", claim_port()
        service = yaml.safe_load((folder / "visibility" / VISIBILITY).read_text())
        service["spec"]["service"] = {"name": SERVICE, "namespace": NAMESPACE, "port": port}
        texts = [(folder / "rbac" / f"{each}_viewer_role.yaml").read_text() for each in VIEWERS]
        served = {"bindAddress": HOST, "bindPort": port}
        self.restart(featureGates={"VisibilityOnDemand": True}, visibilityServer=served)
        try:
            install(self.cluster, stdin="\n---\n".join([yaml.safe_dump(service), *texts]))
            yield
        finally:
            # One that is not there would keep namespaces from being deleted.
            self.cluster.kubectl("delete", "apiservice", service["metadata"]["name"])
            claim.close()
            shutil.rmtree(CERTIFICATES, ignore_errors=True)
        self.restart()

    def _is_ready(self) -> bool:
        """It is ready once it has its certificates, which a kubelet would mount."""
        secret = self.cluster.client.find(f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}") or {}
        for name, value in (secret.get("data") or {}).items():
            part = self.certificates / f"{name}.part"  # Kueue ends when it reads half of one
            part.write_bytes(base64.b64decode(value))
            part.replace(self.certificates / name)
        try:
            return http_get(f"http://{HOST}:{self.health}/readyz")[0] == 200
        except OSError:
            return False


@contextlib.contextmanager
def prepare(running: Cluster) -> Iterator[Kueue]:
    """Kueue, installed, and the operator's rights."""
    install_without_deployment(running)
    grant_queues(running)
    with contextlib.closing(Kueue(running)) as kueue:
        kueue.install()
        yield kueue


def flavor(name: str = "default", **spec: Any) -> Raw:
    metadata = {"name": name}
    return {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": metadata, "spec": spec}


def queue(lab: Lab, name: str, cpu: int | str, flavor: str = "default", **spec: Any) -> list[Raw]:
    """A ClusterQueue with so many CPUs, and a LocalQueue of the same name in the namespace."""
    quota = {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group], **spec}
    return [
        {"apiVersion": VERSION, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": lab.namespace},
            "spec": {"clusterQueue": name},
        },
    ]


def used_cpus(lab: Lab, name: str) -> str:
    status = lab.cluster.get(f"{API}/clusterqueues/{name}").get("status") or {}
    usage = status.get("flavorsReservation") or [{"resources": [{"total": "?"}]}]
    return str(usage[0]["resources"][0].get("total"))


def queued(name: str, queue: str, pods: int = 2, script: str = SLEEP, **spec: Any) -> Raw:
    """A job in a queue whose pods ask for one CPU each."""
    template = shell(script, resources={"requests": {"cpu": "1"}})
    priority = spec.pop("priority", "")
    job = paddle_job(name, {"worker": (pods, spec.pop("template", template))}, **spec)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    if priority:
        job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    return job


def submit(lab: Lab, *objects: Raw) -> None:
    """`kubectl apply`: flavors and classes belong to no namespace."""
    lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))


def is_queued(lab: Lab, name: str) -> Callable[[], bool]:
    """Whether a job waits in its queue, without pods and without quota."""

    def look() -> bool:
        held = lab.condition(name, "Pending").get("reason") == "Queued"
        return held and not lab.pods(name) and not has_quota(lab, name)

    return look


def workload(lab: Lab, name: str) -> Raw:
    """The job's Workload, empty if there is none."""
    found = lab.items(API, "workloads")
    return next((w for w in found if w["metadata"]["name"].startswith(f"paddlejob-{name}-")), {})


def condition(lab: Lab, name: str, type_: str) -> Raw:
    told = (workload(lab, name).get("status") or {}).get("conditions") or ()
    return next((each for each in told if each["type"] == type_), {})


def has_quota(lab: Lab, name: str) -> bool:
    return condition(lab, name, "QuotaReserved").get("status") == "True"
