"""A real node beside the local control plane: kubelet, containerd, kube-proxy and CoreDNS.

It needs root, a cgroup (`tests.e2e.cgroups` makes it), and a network and a mount namespace that are
its own (`tests.e2e.world`): addresses, routes and packet filters are set as if the machine were
nobody else's. Everything lies in the temporary folder, and every process ends with the one that
started the node.
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from kube.errors import ApiError
from localcluster import Cluster, ClusterConfig
from localcluster.client.rest import has_condition
from localcluster.cluster.components import API_SERVER, CONTROLLER_MANAGER
from localcluster.machine import clock
from tests.e2e.cgroups import CGROUP
from tests.e2e.programs import DNS, NODE
from tests.e2e.world import NODE_ADDRESS as ADDRESS
from tests.e2e.world import NODE_NAME as NAME
from tests.live import patience

NODE_PATH = f"/api/v1/nodes/{NAME}"
# Of the ranges for documentation too: EndpointSlices refuse loopback.
POD_RANGE = "203.0.113.0/24"
DNS_ADDRESS = "10.96.0.10"
DOMAIN = "cluster.local"
PAUSE_IMAGE = "localhost/pause:1"
CNI_PROGRAMS = Path("/usr/lib/cni")
FOLDER = Path("/run/paddlejob-e2e")
"""Not in the cluster's own folder: the node mounts below it, and mounts go with the namespace."""
GPUS = {"nvidia.com/gpu": "8"}
"""What no device plugin is there to tell: nobody keeps count of them but the scheduler."""
CONTAINERD, KUBELET, KUBE_PROXY, COREDNS = "containerd", "kubelet", "kube-proxy", "coredns"


@dataclass(frozen=True)
class RealNode:
    """The running node and its cluster; processes have the names that the constants say."""

    cluster: Cluster
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """Whether this process has started it."""
        return bool(self.processes)

    @property
    def socket(self) -> Path:
        return self.folder / "containerd.sock"

    def start(self, name: str) -> None:
        """Start one of the node's processes, or start it again.

        It has no guard: the shims of containers, which outlive containerd, would end with it.
        """
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self._commands()[name], cwd=self.folder, stdout=log, stderr=log
            )

    def start_ready(self, name: str) -> None:
        """The same, and wait until containerd answers, or until the API server calls it ready."""
        ready = {
            CONTAINERD: lambda: bool(self.ctr("version")),
            KUBELET: lambda: is_ready(self.cluster),
        }
        self.start(name)
        wait_for(self, name, ready.get(name, lambda: True))

    def stop(self, name: str) -> None:
        """Stop one of them; what it has started goes on."""
        process = self.processes.pop(name)
        process.terminate()
        process.wait(patience.SECONDS)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def ctr(self, *arguments: str) -> str:
        """What `ctr` says of the images and containers of Kubernetes."""
        command = ["ctr", "--address", str(self.socket), "--namespace", "k8s.io", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def running_containers(self, namespace: str) -> list[str]:
        """The containers of a namespace of which a process runs."""
        of_namespace = f'labels."io.kubernetes.pod.namespace"=={namespace}'
        made = set(self.ctr("containers", "list", "--quiet", of_namespace).split())
        tasks = [line.split() for line in self.ctr("tasks", "list").splitlines()]
        return [words[0] for words in tasks if words[0] in made and words[-1] == "RUNNING"]

    def load(self, archive: Path) -> None:
        self.ctr("images", "import", str(archive))

    def _commands(self) -> dict[str, Sequence[str]]:
        programs = NODE.binaries_folder()
        return {
            CONTAINERD: ["containerd", "--config", "containerd.toml"],
            KUBELET: [
                *(str(programs / KUBELET), "--config=kubelet.yaml"),
                *("--kubeconfig=kubeconfig", f"--hostname-override={NAME}"),
                *(f"--node-ip={ADDRESS}", f"--root-dir={self.folder / 'kubelet'}"),
            ],
            KUBE_PROXY: [str(programs / KUBE_PROXY), "--config=proxy.yaml"],
            COREDNS: [str(DNS.binaries_folder() / COREDNS), "-conf", "Corefile"],
        }


@contextmanager
def real_node(images: Sequence[Path]) -> Iterator[RealNode]:
    """A cluster with one real node on which these archives' images are."""
    prepare_network()
    config = ClusterConfig(
        nodes=0,
        component_arguments={
            API_SERVER: [
                "--bind-address=0.0.0.0",
                f"--advertise-address={ADDRESS}",
                "--endpoint-reconciler-type=lease",
            ],
            CONTROLLER_MANAGER: ["--controllers=*"],
        },
    )
    with Cluster(config) as cluster:
        node = RealNode(cluster, FOLDER)
        node.folder.mkdir()
        write_files(node)
        node.start_ready(CONTAINERD)
        with ThreadPoolExecutor() as pool:
            list(pool.map(node.load, images))
        for name in (KUBELET, KUBE_PROXY, COREDNS):
            node.start_ready(name)
        cluster.client.patch(f"{NODE_PATH}/status", {"status": {"capacity": GPUS}})
        yield node
        for name in (*node.processes,):
            node.stop(name)


def prepare_network() -> None:
    """Give the namespace loopback, the addresses of node and CoreDNS, and a default route."""
    for command in (
        "ip link set lo up",
        "ip link add node0 type veth peer name wire0",
        f"ip address add {ADDRESS}/24 dev node0",
        "ip link set node0 up",
        "ip link set wire0 up",
        "ip route add default dev node0",
        f"ip address add {DNS_ADDRESS}/32 dev lo",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        subprocess.run(command.split(), check=True, capture_output=True, text=True)


def write_files(node: RealNode) -> None:
    plane, folder = node.cluster.plane, node.folder
    plane.write_node_kubeconfig(folder / "kubeconfig", NAME)
    (folder / "resolv.conf").write_text(f"nameserver {DNS_ADDRESS}\n")
    (folder / "containerd.toml").write_text(containerd_config(node))
    (folder / "kubelet.yaml").write_text(yaml.safe_dump(kubelet_config(node)))
    (folder / "proxy.yaml").write_text(yaml.safe_dump(proxy_config(node)))
    (folder / "Corefile").write_text(corefile(node))
    cni = folder / "cni"
    cni.mkdir()
    (cni / "10-pods.conflist").write_text(CNI_CONFIG)


# Each pod has a link of its own to the node, which routes: no bridge is needed, nor its filters.
CNI_CONFIG = f"""\
{{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {{"type": "ptp", "ipMasq": false,
   "ipam": {{"type": "host-local", "dataDir": "/run/cni-addresses",
            "ranges": [[{{"subnet": "{POD_RANGE}"}}]], "routes": [{{"dst": "0.0.0.0/0"}}]}}}},
  {{"type": "portmap", "capabilities": {{"portMappings": true}}}}]}}
"""


def containerd_config(node: RealNode) -> str:
    """Without AppArmor, and without raising a process's OOM score above what a container may."""
    return f"""\
version = 2
root = "{node.folder}/containerd"
state = "{node.folder}/containerd-state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "{node.socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI_PROGRAMS}"
conf_dir = "{node.folder}/cni"
"""


def kubelet_config(node: RealNode) -> dict[str, object]:
    """A kubelet's own values but for what the machine lacks; disks here are of no size."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(node.cluster.plane.ca_file)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": DOMAIN,
        "resolvConf": str(node.folder / "resolv.conf"),
        "podLogsDir": str(node.folder / "pod-logs"),
        "volumePluginDir": str(node.folder / "volume-plugins"),
        "oomScoreAdj": 0,
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
    }


def proxy_config(node: RealNode) -> dict[str, object]:
    """By iptables; the kernel's table of connections stays as it is."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(node.cluster.kubeconfig)},
        "hostnameOverride": NAME,
        "mode": "iptables",
        "clusterCIDR": POD_RANGE,
        "oomScoreAdj": 0,
        "conntrack": {"maxPerCore": 0, "min": 0},
    }


def corefile(node: RealNode) -> str:
    """The cluster's names, and no others: there is nobody to ask."""
    return f"""\
{DOMAIN} in-addr.arpa {{
    bind {DNS_ADDRESS}
    errors
    kubernetes {DOMAIN} in-addr.arpa {{
        kubeconfig {node.cluster.kubeconfig}
        pods insecure
        ttl 5
    }}
    cache 5
}}
"""


def is_ready(cluster: Cluster) -> bool:
    node = cluster.client.find(NODE_PATH)
    return node is not None and has_condition(node, "Ready")


def wait_for(node: RealNode, name: str, holds: Callable[[], bool]) -> None:
    """Wait for what a process has to do; fails with its log."""

    def holds_now() -> bool:
        assert node.processes[name].poll() is None, end_of_log(node, name)
        try:
            return holds()
        except (ApiError, subprocess.CalledProcessError):
            return False

    assert clock.wait_until(holds_now, patience.SECONDS), end_of_log(node, name)


def end_of_log(node: RealNode, name: str) -> str:
    lines = node.log(name).read_text(errors="replace").splitlines()
    return "\n".join([f"{name} is not ready:", *lines[-40:]])
