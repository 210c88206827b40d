"""Which proxy leads to an API server."""

from urllib.parse import urlsplit

import pytest

from kube.endpoint import choose_proxy

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "no_proxy", "is_direct"),
    [
        ("https://a.example:6443", "", False),
        ("https://a.example:6443", "a.example", True),
        ("https://a.example:6443", " b , A.Example", True),
        ("https://a.example:6443", "example", True),
        ("https://a.example:6443", ".example", True),
        ("https://a.example:6443", "*.example", True),
        ("https://a.example:6443", "ample", False),
        ("https://a.example:6443", "b.a.example", False),
        ("https://a.example:6443", "a.example:6443", True),
        ("https://a.example:6443", "a.example:443", False),
        ("https://a.example:6443", ".,", False),
        ("https://a.example:6443", "b,*", True),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "192.168.0.0/16", False),
        ("https://[fd00::1]", "fd00::/8", True),
    ],
)
def test_a_server_in_the_list_is_reached_directly(server, no_proxy, is_direct):
    used = choose_proxy(urlsplit(server), PROXY, no_proxy, is_environments=True)
    assert used == ("" if is_direct else PROXY)
