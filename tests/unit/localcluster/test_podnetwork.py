"""Which addresses pods have where some of them lead elsewhere, and that of their bridge."""

import subprocess
import sys

import pytest

from localcluster.node.runtime.podnetwork import PodNetwork, choose_range

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
DEFAULT = "eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
HALVES = DEFAULT.replace("eth0", "tun0").replace("\t00000000\t0\t0\t0\n", "\t00000080\t0\t0\t0\n")
HOME = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
PROXY = "utun\t000012C6\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0\n"
OFFICE = "tun0\t0000000A\t0100A8C0\t0003\t0\t0\t0\t000000FF\t0\t0\t0\n"
CLUSTER = PROXY.replace("utun", "lc4711")


@pytest.mark.parametrize(
    ("routes", "first"),
    [
        pytest.param("", "198.18.0.0", id="none"),
        pytest.param(DEFAULT + HOME, "198.18.0.0", id="usual"),
        pytest.param(DEFAULT + HALVES, "198.18.0.0", id="default in halves"),
        pytest.param(DEFAULT + CLUSTER, "198.18.0.0", id="another cluster"),
        pytest.param(DEFAULT + PROXY, "10.222.0.0", id="proxy"),
        pytest.param(DEFAULT + PROXY + OFFICE, "100.96.0.0", id="proxy and office"),
    ],
)
def test_pods_have_addresses_that_lead_nowhere_else(routes, first):
    assert choose_range(HEAD + routes) == first


ADD_PODS = """
import fcntl, os, socket
from localcluster.node.runtime import linux, podnetwork

SIOCGIFHWADDR = 0x8927
machine = podnetwork.open_own()
linux.unshare(linux.CLONE_NEWNET)
podnetwork.make_bridge(machine, "198.18.0.0")
fabric = podnetwork.open_own()

def address():
    with socket.socket() as asking:
        return fcntl.ioctl(asking, SIOCGIFHWADDR, b"pods".ljust(40, b"\\0"))[18:24]

seen = {address()}
for number in range(12):
    podnetwork.make_pod_network(fabric, f"198.18.0.{number + 2}")
    linux.setns(fabric, linux.CLONE_NEWNET)
    seen.add(address())
print(len(seen))
"""


def test_the_bridge_keeps_its_address_as_pods_come():
    """Else pods do not reach the API server until they ask again who has its address."""
    command = ["unshare", "--net", sys.executable, "-c", ADD_PODS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("this user may not make networks")
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_node_whose_network_has_ended_ends(tmp_path):
    """Its pods would share the machine's network, of which nobody would learn."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    PodNetwork(ended.pid, "", "198.18.0.0").write(tmp_path)
    command = [sys.executable, "-m", "localcluster.node", str(tmp_path / "node-0")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ProcessLookupError" in done.stderr
