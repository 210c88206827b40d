"""A cluster whose operator a real Prometheus watches, and the steps from a cause to its cure."""

import re
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.ports import HOST, claim_port
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.installers import NAMESPACE
from tests.live.lab import Lab, Raw
from tests.live.operated import WORKLOAD, operator_behind
from tests.live.pdj import Tool
from tests.live.processes import http_get
from tests.live.prometheus import Prometheus
from tests.live.proxy import FaultProxy, hold

PAGE = Path(__file__).parents[2] / "docs" / "alerts.md"
Fired = dict[str, Raw]
Steps = Generator[None, Fired, None]


@dataclass(frozen=True)
class Row:
    """A cause with its alerts, each with the labels that tell it from others of its name.

    One that is `early` begins before all others, as it takes long; one that goes `late` is waited
    for at the end.
    """

    alerts: dict[str, dict[str, str]]
    steps: Callable[["World"], Steps]
    early: bool = False
    late: bool = False

    @property
    def name(self) -> str:
        return self.steps.__name__


@dataclass
class World:
    """A cluster with an operator of all namespaces, and Prometheus, which watches it.

    The rival is another operator, of one namespace, that reaches the API server through a proxy.
    """

    cluster: Cluster
    prometheus: Prometheus
    rival: "Rival"
    stack: ExitStack
    _under_way: dict[str, Steps] = field(default_factory=dict)

    def lab(self) -> Lab:
        return Lab(self.cluster, self.stack.enter_context(new_namespace(self.cluster)))

    def begin(self, row: Row) -> None:
        """Bring the cause about, unless that is done; until then its alerts are silent."""
        if row.name in self._under_way:
            return
        for alert, labels in row.alerts.items():
            self.prometheus.forget(alert, **labels)
        self._under_way[row.name] = steps = row.steps(self)
        next(steps)

    def cure(self, row: Row) -> None:
        """Wait until the alerts have fired, follow their runbooks, and cure."""
        fired = {
            name: self.prometheus.wait_fired(name, **labels) for name, labels in row.alerts.items()
        }
        told = [each["annotations"] for each in fired.values()]
        assert "error expanding template" not in str(told)
        try:
            self._under_way[row.name].send(fired)
        except StopIteration:
            return
        raise AssertionError(f"{row.name} yields twice")

    def wait_gone(self, row: Row) -> None:
        for alert, labels in row.alerts.items():
            self.prometheus.wait_silent(alert, **labels)

    def follow(self, alert: str, lab: Lab | None = None, **names: str) -> list[str]:
        """What the commands of an alert's runbook print, with these names for `JOB` and others.

        One that reports something wrong exits with 1, and prints it all the same.
        """
        at = lab or Lab(self.cluster, "default")
        found = []
        for command in commands_of(alert):
            _, *words = (names.get(word, word) for word in command.split())
            is_tool = words[0] == "pdj"
            found.append(Tool(at).run(*words[1:]).out if is_tool else at.kubectl(*words))
        assert found, f"no command in the runbook of {alert}"
        return found

    def log(self) -> str:
        """The operator's."""
        return Lab(self.cluster, NAMESPACE).kubectl("logs", WORKLOAD)

    def until_fired(self, alert: str, act: Callable[[int], None], lab: Lab) -> None:
        """Do this again and again until the alert fires."""
        count = iter(range(10_000))

        def fires() -> bool:
            act(next(count))
            return self.prometheus.has_fired(alert)

        lab.wait(fires, f"{alert} fires")


class Rival:
    """The other operator: the clock of its API server differs, and its watch can be held."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path, stack: ExitStack) -> None:
        self.namespace, self.log, self.thawed = namespace, folder / "log", Event()
        self.behind_seconds, self.stack = 0, stack
        proxy = stack.enter_context(closing(FaultProxy(cluster)))
        self._proxy = proxy
        stack.callback(self.thawed.set)
        stack.enter_context(proxy.rule("", "", self._date))
        (metrics, health), claims = zip(*(claim_port() for _ in range(2)), strict=True)
        for claim in claims:
            stack.enter_context(claim)
        self.metrics, self.health = f"{HOST}:{metrics}", f"{HOST}:{health}"
        flags = (
            "--leader-elect",
            f"--leader-election-namespace={namespace}",
            f"--metrics-bind-address={self.metrics}",
            f"--health-probe-bind-address={self.health}",
        )
        behind = operator_behind(proxy, namespace, folder, *flags)
        self._operator = stack.enter_context(behind)

    def _date(self, handler: BaseHTTPRequestHandler) -> bool:
        shown = clock.utc_now() - timedelta(seconds=self.behind_seconds)
        date = format_datetime(shown, usegmt=True)
        handler.date_time_string = lambda *_: date  # type: ignore[method-assign]
        return False

    def readyz(self) -> tuple[int, str]:
        try:
            return http_get(f"http://{self.health}/readyz")
        except OSError:
            return 0, ""

    def hold_pods(self) -> None:
        """From now on it hears no more about pods."""
        self.stack.enter_context(self._proxy.rule("GET", r"/pods\?", hold(self.thawed)))

    def stop(self) -> None:
        """As one that is uninstalled: it releases its Lease."""
        self._operator.terminate()
        self._operator.wait(patience.SECONDS)


def section_of(alert: str) -> str:
    """The alert's paragraph."""
    return PAGE.read_text().partition(f"### {alert}\n")[2].partition("\n### ")[0]


def commands_of(alert: str) -> list[str]:
    """The commands of an alert's runbook, in order, in their own block or in the text."""
    return re.findall(r"(?:^|`)(kubectl (?:-n \S+ )?[^`\n]+)", section_of(alert), re.MULTILINE)


def cause(
    *alerts: str, early: bool = False, late: bool = False, **labels: str
) -> Callable[[Callable[[World], Steps]], Row]:
    """The row of a generator; the labels are those of all its alerts."""
    return lambda steps: Row(dict.fromkeys(alerts, labels), steps, early, late)
