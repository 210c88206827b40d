"""When a job's pods had their addresses, and when its ConfigMap came."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from api.constants import LABEL_JOB_NAME
from localcluster.client.informer import Informer
from tests.live.lab import CORE, WAIT_SECONDS, Lab, Raw


class Rendezvous:
    """Watches the pods and ConfigMaps of a namespace; the time is that of the news."""

    def __init__(self) -> None:
        self._addresses: dict[tuple[str, str], float] = {}
        self._config_maps: dict[str, float] = {}

    @classmethod
    @contextmanager
    def watched(cls, lab: Lab) -> Iterator["Rendezvous"]:
        """What a namespace's jobs do while the block lasts."""
        seen = cls()
        with ExitStack() as informers:
            for plural, told in (("pods", seen._pod), ("configmaps", seen._config_map)):
                path = f"{CORE}/namespaces/{lab.namespace}/{plural}"
                informer = Informer(lab.cluster.client, path, lambda _: None, told)
                informer.start()
                informers.callback(informer.join)
                informers.callback(informer.stop)
                assert informer.synced.wait(WAIT_SECONDS)
            yield seen

    def wait_seconds(self, job: str) -> float:
        last = max(at for (of, _), at in self._addresses.items() if of == job)
        return max(0.0, self._config_maps[job] - last)

    def _pod(self, _: str, pod: Raw) -> None:
        metadata = pod["metadata"]
        if pod.get("status", {}).get("podIP"):
            key = metadata["labels"].get(LABEL_JOB_NAME, ""), metadata["name"]
            self._addresses.setdefault(key, time.monotonic())

    def _config_map(self, _: str, config_map: Raw) -> None:
        self._config_maps.setdefault(config_map["metadata"]["name"], time.monotonic())
