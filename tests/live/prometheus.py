"""A real Prometheus beside a cluster, with the scrape configuration that docs/alerts.md prints.

It is built from source: Debian's has no service discovery of Kubernetes in it.
"""

import json
import re
import threading
import urllib.parse
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.ports import HOST, claim_port
from localcluster.provision.gobuild import Pins
from manifests.alerts import build_rules
from tests.live import patience
from tests.live.lab import POLL_SECONDS
from tests.live.processes import http_get

Raw = dict[str, Any]
CHECKOUT = Path(__file__).parents[2]
NAME = "prometheus"
PINS = Pins(
    title="Prometheus",
    name=NAME,
    version="v0.314.0",
    folder=Path(__file__).parent / "go" / "prometheus",
    binaries={NAME: "github.com/prometheus/prometheus/cmd/prometheus"},
    tags=("remove_all_sd", "enable_kubernetes_sd"),
)
JOB = "paddlejob"
INTERVAL = "1s"
NOTE_SECONDS = 0.5


class Prometheus:
    """Runs until its cluster stops. Its account reads pods and metrics, and nothing else.

    The alerts' spans of time are made shorter by the scale. A thread notes which fire: one that is
    about the last minute may be over before anybody asks.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        account: tuple[str, str],
        scale: float,
        limits: Mapping[str, float] | None = None,
        beside: Mapping[str, str] | None = None,
    ):
        """`limits` are those of single alerts, in seconds; `beside` has operators that are no pods,
        by their namespace, as HOST:PORT."""
        kubeconfig = cluster.kubeconfig_for(*account)
        user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
        self.token = folder / "token"
        self.token.write_text(user["token"])
        (folder / "alerts.yaml").write_text(yaml.safe_dump(build_rules(scale, limits or {})))
        config = printed_config()
        (scrape,) = config["scrape_configs"]
        scrape["authorization"]["credentials_file"] = str(self.token)
        for discovery in scrape["kubernetes_sd_configs"]:
            discovery["kubeconfig_file"] = str(kubeconfig)
        for namespace, address in (beside or {}).items():
            target = {"targets": [address], "labels": {"namespace": namespace}}
            job = {"job_name": namespace, "static_configs": [target]}
            config["scrape_configs"].append(job)
        config["global"] = {"scrape_interval": INTERVAL, "evaluation_interval": INTERVAL}
        config["rule_files"] = [str(folder / "alerts.yaml")]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        port, self._claim = claim_port()
        self.url = f"http://{HOST}:{port}"
        arguments = [f"--config.file={folder / 'prometheus.yml'}"]
        arguments += [
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={HOST}:{port}",
        ]
        program = str(PINS.binaries_folder() / NAME)
        cluster.run_beside(NAME, [program, *arguments, "--log.level=warn"], folder)
        self._fired: list[Raw] = []
        self._stop = threading.Event()
        self._look = threading.Thread(target=self._note_firing, name="alerts")
        self._look.start()

    def close(self) -> None:
        """Stop looking, and let go of its port."""
        self._stop.set()
        self._look.join()
        self._claim.close()

    def _note_firing(self) -> None:
        while not self._stop.wait(NOTE_SECONDS):
            for each in self.firing() or ():
                if each["labels"] not in [known["labels"] for known in self._fired]:
                    self._fired.append(each)

    def firing(self) -> list[Raw] | None:
        """The alerts that fire; None while Prometheus does not answer."""
        answer = self.ask("alerts")
        return answer and [each for each in answer["alerts"] if each["state"] == "firing"]

    def ask(self, path: str, **query: str) -> Any:
        """`data` of what its API answers; None while it does not."""
        try:
            code, text = http_get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}")
        except OSError:
            return None
        if code == HTTPStatus.SERVICE_UNAVAILABLE:  # it reads its data yet
            return None
        answer = json.loads(text)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, text: str) -> list[tuple[Raw, float]]:
        found = (self.ask("query", query=text) or {"result": []})["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    def wait_for(self, text: str) -> list[tuple[Raw, float]]:
        """The samples, once there are any; fails with what fires at the deadline."""
        found: list[tuple[Raw, float]] = []

        def is_found() -> bool:
            found[:] = self.query(text)
            return bool(found)

        came = clock.wait_until(is_found, patience.SECONDS, POLL_SECONDS)
        assert came, f"nothing: {text}\n{self.query('ALERTS')}"
        return found

    def forget(self, alert: str, **labels: str) -> None:
        """Wait until it does not fire, and forget that it ever did."""
        self.wait_silent(alert, **labels)
        self._fired[:] = [each for each in self._fired if not _find([each], alert, labels)]

    def has_fired(self, alert: str) -> bool:
        return bool(_find(self._fired, alert, {}))

    def wait_fired(self, alert: str, **labels: str) -> Raw:
        """Labels and annotations of an alert that fires, or has fired since the start.

        A label that is empty is one that it must not have.
        """
        clock.wait_until(lambda: bool(_find(self._fired, alert, labels)), patience.SECONDS)
        found = _find(self._fired, alert, labels)
        assert found, f"{alert} {labels} has not fired: {self.query('ALERTS')}"
        return found[0]

    def wait_silent(self, alert: str, **labels: str) -> None:
        """Wait until the alert does not fire."""

        def is_silent() -> bool:
            firing = self.firing()
            return firing is not None and not _find(firing, alert, labels)

        silent = clock.wait_until(is_silent, patience.SECONDS, POLL_SECONDS)
        assert silent, f"{alert} {labels} goes on: {self.firing()}"


def _find(alerts: list[Raw], name: str, labels: Mapping[str, str]) -> list[Raw]:
    wanted = {"alertname": name, **labels}
    return [a for a in alerts if all(a["labels"].get(k, "") == v for k, v in wanted.items())]


def let_read(cluster: Cluster, namespace: str, account: str, operators: str, reader: str) -> None:
    """Make an account that may find the operator's pods in `operators` and read their metrics, by
    the ClusterRole `reader`."""
    cluster.kubectl("-n", namespace, "create", "serviceaccount", account)
    subject = f"--serviceaccount={namespace}:{account}"
    cluster.kubectl("create", "clusterrolebinding", "reads", f"--clusterrole={reader}", subject)
    pods = ("--verb=get,list,watch", "--resource=pods")
    cluster.kubectl("-n", operators, "create", "role", "finds", *pods)
    cluster.kubectl("-n", operators, "create", "rolebinding", "finds", "--role=finds", subject)


def printed_config() -> Raw:
    page = (CHECKOUT / "docs" / "alerts.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (text,) = (block for block in blocks if block.startswith("scrape_configs:"))
    return dict(yaml.safe_load(text))
