"""A real Prometheus beside a cluster, with the scrape configuration that docs/alerts.md prints.

It is built from source: Debian's has no service discovery of Kubernetes in it.
"""

import json
import re
import threading
import urllib.parse
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

    def __init__(self, cluster: Cluster, folder: Path, account: tuple[str, str], scale: float):
        kubeconfig = cluster.kubeconfig_for(*account)
        user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
        (folder / "token").write_text(user["token"])
        (folder / "alerts.yaml").write_text(yaml.safe_dump(build_rules(scale)))
        config = printed_config()
        (scrape,) = config["scrape_configs"]
        scrape["authorization"]["credentials_file"] = str(folder / "token")
        for discovery in scrape["kubernetes_sd_configs"]:
            discovery["kubeconfig_file"] = str(kubeconfig)
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
        self._fired: dict[str, Raw] = {}
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
            for each in (self.ask("alerts") or {"alerts": ()})["alerts"]:
                if each["state"] == "firing":
                    self._fired[each["labels"]["alertname"]] = each

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

    def wait_firing(self, alert: str) -> Raw:
        """Labels and annotations of an alert, once it fires."""
        self.wait_for(f'ALERTS{{alertname="{alert}",alertstate="firing"}}')
        fired = (each for each in self.ask("alerts")["alerts"])
        return next(each for each in fired if each["labels"]["alertname"] == alert)

    def wait_fired(self, alert: str) -> Raw:
        """The same of one that fires, or has fired since the start."""
        found = clock.wait_until(lambda: alert in self._fired, patience.SECONDS)
        assert found, f"{alert} has not fired: {[*self._fired]}, {self.query('ALERTS')}"
        return self._fired[alert]


def printed_config() -> Raw:
    page = (CHECKOUT / "docs" / "alerts.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (text,) = (block for block in blocks if block.startswith("scrape_configs:"))
    return dict(yaml.safe_load(text))
