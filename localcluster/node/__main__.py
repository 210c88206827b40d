"""The node as a program: `python -m localcluster.node --kubeconfig F --name node-0 --state-dir D`.

It ends on SIGTERM or SIGINT, and when its spawner dies; its containers end with it.
"""

import argparse
import faulthandler
import os
import signal
import sys
import threading
from pathlib import Path

from localcluster.images import ImageTable
from localcluster.node.addresses import AddressPool
from localcluster.node.client import Client, Raw
from localcluster.node.events import Recorder
from localcluster.node.hosts import Hosts
from localcluster.node.informer import Informer
from localcluster.node.keeping import Timing
from localcluster.node.manager import PodManager
from localcluster.node.objects import ApiObjects
from localcluster.node.pods import Surroundings
from localcluster.node.registration import RENEW_SECONDS, NodeFacts, Registration
from localcluster.node.runtime import Runtime
from localcluster.node.server import KubeletServer
from localcluster.node.starter import Machine
from localcluster.node.volumes import VolumeRoots

DEFAULT_PODS = "250"
STACK_BYTES = 512 * 1024  # a thread per pod: the default of 8 MiB is address space for nothing


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """The command line; exits with a message when it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m localcluster.node", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--capacity", type=_pairs, default={}, help="cpu=8,memory=16Gi,...")
    parser.add_argument("--label", type=_pair, action="append", default=[], help="key=value")
    parser.add_argument(
        "--taint", type=_taint, action="append", default=[], help="key=value:Effect"
    )
    parser.add_argument("--images", type=Path, action="append", default=[], help="image table")
    parser.add_argument(
        "--config-retry-seconds",
        type=float,
        help="look for a missing ConfigMap at this interval only, as a kubelet does every 10 to 15;"
        " by default as soon as it appears",
    )
    parser.add_argument(
        "--renew-seconds", type=float, default=RENEW_SECONDS, help="interval of the Lease's renewal"
    )
    parser.add_argument("--backoff-seconds", type=float, default=10.0, help="of a crash loop")
    parser.add_argument("--nfs-root", type=Path, help="folder of <server>/<path> (state-dir/nfs)")
    parser.add_argument("--host-path-root", type=Path, help="folder that hostPath volumes see as /")
    return parser.parse_args(words)


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"not key=value: {text}")
    return key, value


def _pairs(text: str) -> dict[str, str]:
    return dict(_pair(each) for each in text.split(",") if each)


def _taint(text: str) -> Raw:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise argparse.ArgumentTypeError(f"not key=value:Effect: {text}")
    return {"key": key, "value": value, "effect": effect}


def default_capacity() -> dict[str, str]:
    """What the machine has."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory // 1024}Ki",
        "pods": DEFAULT_PODS,
        "ephemeral-storage": "100Gi",
    }


def main(words: list[str]) -> int:
    """Run the node until it is told to end; the exit code."""
    arguments = parse_arguments(words)
    faulthandler.register(signal.SIGUSR1)  # tells where every thread is
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.stack_size(STACK_BYTES)
    state = arguments.state_dir.resolve()
    state.mkdir(parents=True, exist_ok=True)
    # First of all: the kernel ties the spawner's life to the thread that starts it, the main one.
    runtime = Runtime(ended.set)
    if not runtime.isolated:
        print("no namespaces on this machine: pods that mount something cannot run", flush=True)
    try:
        run_node(arguments, runtime, state)
        while not ended.wait(1.0):  # with a timeout, so that a signal's handler gets its turn
            pass
    finally:
        runtime.close()
    return 0


def run_node(arguments: argparse.Namespace, runtime: Runtime, state: Path) -> None:
    """Start every part; each has threads of its own."""
    client = Client(arguments.kubeconfig)
    capacity = default_capacity() | arguments.capacity
    addresses = AddressPool()
    server = KubeletServer(addresses.node_address, state, client.connection.authority)
    hosts = Hosts()
    events = Recorder(client, arguments.name)
    machine = Machine(
        runtime,
        ApiObjects(client),
        ImageTable(arguments.images),
        events,
        client.connection.host,
        client.connection.port,
    )
    roots = VolumeRoots(arguments.nfs_root or state / "nfs", arguments.host_path_root)
    around = Surroundings(client, machine, hosts, roots, _timing(arguments), arguments.name)
    pods = PodManager(around, addresses, state / "pods", capacity)
    facts = NodeFacts(
        arguments.name,
        addresses.node_address,
        server.port,
        capacity,
        dict(arguments.label),
        arguments.taint,
        arguments.renew_seconds,
    )
    events.start()
    hosts.start()
    pods.start()
    server.start(pods)
    _follow(client, pods, hosts)
    Registration(client, facts).start()


def _timing(arguments: argparse.Namespace) -> Timing:
    retry = arguments.config_retry_seconds
    return Timing(
        crash_backoff=arguments.backoff_seconds,
        image_backoff=arguments.backoff_seconds,
        config_retry=1.0 if retry is None else retry,
        wakes_on_config=retry is None,
    )


def _follow(client: Client, pods: PodManager, hosts: Hosts) -> None:
    def replace_pods(found: list[Raw]) -> None:
        hosts.replace_pods(found)
        pods.replace(found)

    def pod_event(kind: str, pod: Raw) -> None:
        hosts.pod_event(kind, pod)
        pods.event(kind, pod)

    def config_event(kind: str, config: Raw) -> None:
        if kind != "DELETED":
            metadata = config["metadata"]
            pods.config_changed("configMap", metadata["namespace"], metadata["name"])

    Informer(client, "/api/v1/services", hosts.replace_services, hosts.service_event).start()
    Informer(client, "/api/v1/pods", replace_pods, pod_event).start()
    Informer(client, "/api/v1/configmaps", lambda _: None, config_event, metadata_only=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
