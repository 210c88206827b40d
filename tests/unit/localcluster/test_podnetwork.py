"""Which addresses pods have where some of them lead elsewhere on the machine."""

import pytest

from localcluster.node.runtime.podnetwork import choose_range

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
