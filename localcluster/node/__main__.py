"""The node as a program: `python -m localcluster.node FOLDER`.

The folder is private to the node and named after it. It contains the node's kubeconfig and the
pickled ClusterConfig. The node ends on SIGTERM or SIGINT, and when its spawner dies; its containers
end with it.
"""

import faulthandler
import os
import pickle
import select
import signal
import sys
import threading
from pathlib import Path

from localcluster.client.informer import Informer
from localcluster.client.rest import Raw, Server, ServerClient
from localcluster.cluster.config import ClusterConfig
from localcluster.node.manager import PodManager
from localcluster.node.network.addresses import AddressPool
from localcluster.node.network.hosts import Hosts
from localcluster.node.pod.events import Recorder
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.pod.turn import Turn
from localcluster.node.registration import Registration
from localcluster.node.runtime.podnetwork import PodNetwork
from localcluster.node.runtime.runtime import Runtime
from localcluster.node.server import KubeletServer
from localcluster.provision.images import ImageTable

DEFAULT_PODS = "250"
STACK_BYTES = 512 * 1024  # each pod has a thread; the default of 8 MiB wastes address space


def main(folder: Path) -> int:
    """Run the node until a signal; return the exit code."""
    faulthandler.register(signal.SIGUSR1)  # prints the stack of every thread
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.stack_size(STACK_BYTES)
    network = PodNetwork.read(folder.resolve().parent)
    if network is not None:
        ended_with(network.pid)
    # In the main thread: the kernel kills the spawner when the thread that started it ends.
    runtime = Runtime(ended.set, network.pid if network else 0)
    if not runtime.isolated:
        print("no namespaces on this machine: pods that mount something cannot run", flush=True)
    try:
        run_node(folder.resolve(), runtime, network if runtime.isolated else None)
        while not ended.wait(1.0):  # with a timeout, so that signal handlers run
            pass
    finally:
        runtime.close()
    return 0


def default_capacity() -> dict[str, str]:
    """The machine's CPUs and memory, 250 pods, and 100 GiB of ephemeral storage."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory // 1024}Ki",
        "pods": DEFAULT_PODS,
        "ephemeral-storage": "100Gi",
    }


def run_node(folder: Path, runtime: Runtime, network: PodNetwork | None) -> None:
    """Start all parts of the node in threads of their own, and return."""
    config: ClusterConfig = pickle.loads((folder / "config").read_bytes())
    client = ServerClient(Server.from_kubeconfig(folder / "kubeconfig"))
    capacity = default_capacity() | dict(config.node_capacity)
    addresses = AddressPool()
    if network is not None:
        addresses = AddressPool(network.subnets, None if network.device else addresses)
        if network.device:
            network.attach_node(addresses.node_address, addresses.subnet)
    server = KubeletServer(addresses.node_address, folder, client.server.authority)
    hosts = Hosts()
    events = Recorder(client, folder.name)
    images = ImageTable(list(config.images))
    turn = Turn(folder.parent / "turn", client)
    node = NodeContext(folder.name, config, client, runtime, images, events, hosts, network, turn)
    pods = PodManager(node, addresses, folder / "pods", capacity)
    events.start()
    hosts.start()
    pods.start()
    server.start(pods, runtime)
    _follow(client, pods, hosts)
    address, port = addresses.node_address, server.server_port
    registration = Registration(client, config, folder.name, address, port, capacity)
    threading.Thread(target=registration.run, name="registration", daemon=True).start()


def ended_with(pid: int) -> None:
    """Start a thread that ends this process when `pid` ends, which owns the pods' network."""

    def watch() -> None:
        select.select([descriptor], [], [])
        print("the pods' network is gone", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    descriptor = os.pidfd_open(pid)
    threading.Thread(target=watch, name="network", daemon=True).start()


def _follow(client: ServerClient, pods: PodManager, hosts: Hosts) -> None:
    def replace_pods(found: list[Raw]) -> None:
        hosts.replace_pods(found)
        pods.replace(found)

    def pod_event(kind: str, pod: Raw) -> None:
        hosts.pod_event(kind, pod)
        pods.event(kind, pod)

    def config_event(kind: str, config: Raw) -> None:
        if kind != "DELETED":
            metadata = config["metadata"]
            pods.config_map_changed(metadata["namespace"], metadata["name"])

    Informer(client, "/api/v1/services", hosts.replace_services, hosts.service_event).start()
    Informer(client, "/api/v1/pods", replace_pods, pod_event).start()
    Informer(client, "/api/v1/configmaps", lambda _: None, config_event).start()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
