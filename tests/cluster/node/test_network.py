"""Addresses, host names and what Service names resolve to."""

import http.server
import socket
import threading
from typing import Any

from localcluster.client.rest import ServerClient
from tests.live.nodepods import Pods, Raw, python, shell

SERVE = """
import http.server, os, sys
address = (os.environ["IP"], 8080)
http.server.ThreadingHTTPServer(address, http.server.SimpleHTTPRequestHandler).serve_forever()
"""
FETCH_WEB = """
import time, urllib.request
while True:
    try:
        print(urllib.request.urlopen("http://web:8080", timeout=5).status)
        break
    except OSError:
        time.sleep(0.1)
"""
PROBE: Raw = {"readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1}}
IP = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]


def create_service(client: ServerClient, namespace: str, name: str, **spec: Any) -> None:
    """A headless one, unless `spec` says otherwise."""
    fields = {"ports": [{"port": 8080}], "clusterIP": "None"} | spec
    body = {"metadata": {"name": name}, "spec": fields}
    client.create(f"/api/v1/namespaces/{namespace}/services", body)


def wait_for_name(name: str) -> Raw:
    """A container that prints the addresses of a name once it has any."""
    script = f"until getent ahostsv4 {name} > /tmp/a; do sleep 0.1; done; cut -d' ' -f1 /tmp/a"
    return shell(f"{script} | sort -u", name="main")


def fetch(pods: Pods, server: str, **spec: Any) -> str:
    """What a pod prints of the answer of a web server."""
    script = f"import urllib.request as r; print(r.urlopen('http://{server}').status)"
    return pods.run(python(script), **spec)


def test_two_pods_listen_on_one_port_and_reach_each_other(pods: Pods) -> None:
    """Even where both take the port of all their addresses."""
    everywhere = [{"name": "IP", "value": "0.0.0.0"}]
    for name in ("a", "b"):
        pods.create(name, python(SERVE, env=everywhere, **PROBE))
    addresses = [pods.wait_ready(name)["status"]["podIP"] for name in ("a", "b")]
    for address in addresses:
        assert fetch(pods, f"{address}:8080") == "200\n"


def test_containers_of_a_pod_share_its_network_and_those_of_another_do_not(pods: Pods) -> None:
    # They run on: the kernel gives the number of a network that is gone to the next.
    look = shell("readlink /proc/self/ns/net; sleep 600")
    for name in ("a", "b"):
        pods.create(name, look | {"name": "main"}, look | {"name": "second"})
    seen = [
        {pods.wait_log(name, "net:", container=each).strip() for each in ("main", "second")}
        for name in ("a", "b")
        if pods.wait_ready(name)
    ]
    assert [len(each) for each in seen] == [1, 1]
    assert seen[0] != seen[1]


def test_a_pod_on_the_hosts_network_and_others_reach_each_other(pods: Pods) -> None:
    for name, on_host in (("host", True), ("own", False)):
        pods.create(name, python(SERVE, env=IP, **PROBE), hostNetwork=on_host)
    for name, client_on_host in (("host", False), ("own", True)):
        address = pods.wait_ready(name)["status"]["podIP"]
        assert fetch(pods, f"{address}:8080", hostNetwork=client_on_host) == "200\n"


def test_pods_reach_web_servers_beyond_the_cluster(pods: Pods) -> None:
    """The machine's own address stands for all that lies beyond."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect(("192.0.2.77", 9))  # sends nothing
        address = route.getsockname()[0]
    server = http.server.ThreadingHTTPServer((address, 80), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert fetch(pods, address) == "200\n"
    finally:
        server.shutdown()
        server.server_close()


def test_what_is_not_there_is_told(pods: Pods) -> None:
    """Without an answer, the connection would time out; and the resolver, which is as patient as it
    can be, would ask for longer than a test waits. The machine's name server may take its time.
    """
    script = """
import socket
for target in (("192.0.2.77", 8080), ("name.invalid", 80)):
    try:
        socket.create_connection(target, 60)
    except OSError as error:
        print(type(error).__name__)
print(open("/etc/resolv.conf").read())
"""
    patient = [{"name": "RES_OPTIONS", "value": "timeout:30 attempts:5"}]
    lines = pods.run(python(script, env=patient)).splitlines()
    assert lines[:2] == ["ConnectionRefusedError", "gaierror"]
    assert "nameserver 10.96.0.1" in lines


def test_hostname_is_the_pods_and_resolves_to_its_address(pods: Pods) -> None:
    script = "hostname; cat /etc/hostname; getent hosts $(hostname) | cut -d' ' -f1"
    seen = pods.run(script, "named", hostname="other").split()
    assert seen == ["other", "other", pods.get("named")["status"]["podIP"]]


def test_host_aliases(pods: Pods) -> None:
    alias = {"ip": "10.1.2.3", "hostnames": ["foo.local", "bar"]}
    assert pods.run("getent hosts bar", hostAliases=[alias]).split()[0] == "10.1.2.3"


def test_a_host_network_pod_has_the_nodes_address_and_name(pods: Pods) -> None:
    name = pods.run("hostname", "host", hostNetwork=True).strip()
    pod = pods.get("host")
    assert pod["status"]["podIP"] == pod["status"]["hostIP"]
    assert name == pod["spec"]["nodeName"]


def test_nodes_have_different_addresses(pods: Pods) -> None:
    for number in (0, 1):
        pods.create(f"host-{number}", shell("exit 0"), nodeName=f"node-{number}", hostNetwork=True)
    ended = [pods.wait_phase(f"host-{number}", "Succeeded") for number in (0, 1)]
    assert len({pod["status"]["hostIP"] for pod in ended}) == 2


def test_a_service_name_leads_to_its_ready_pods(pods: Pods, client: ServerClient) -> None:
    create_service(client, pods.namespace, "web", selector={"app": "web"})
    never = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    pods.create("unready", shell("sleep 3600", readinessProbe=never), labels={"app": "web"})
    pods.create("ready", shell("sleep 3600"), labels={"app": "web"})
    pods.create("other", shell("sleep 3600"), labels={"app": "other"})
    address = pods.wait_ready("ready")["status"]["podIP"]
    pods.wait_state("unready", "running")
    assert pods.run(wait_for_name("web")).split() == [address]


def test_names_resolve_before_a_pod_is_ready_where_the_service_says_so(pods, client):
    spec: dict[str, Any] = {"selector": {"app": "peer"}, "publishNotReadyAddresses": True}
    create_service(client, pods.namespace, "peer", **spec)
    waits = shell("exit 0", envFrom=[{"configMapRef": {"name": "absent"}}])
    pods.create("waits", waits, labels={"app": "peer"})
    pod = pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    seen = pods.run(wait_for_name(f"peer.{pods.namespace}")).split()
    assert seen == [pod["status"]["podIP"]]


def test_a_service_with_an_address_leads_there_too(pods: Pods, client: ServerClient) -> None:
    """Without kube-proxy its name leads to the pods themselves."""
    create_service(client, pods.namespace, "web", selector={"app": "web"}, clusterIP="")
    pods.create("ready", python(SERVE, env=IP, **PROBE), labels={"app": "web"})
    pods.wait_ready("ready")
    assert pods.run(python(FETCH_WEB)) == "200\n"


def test_all_forms_of_a_name(pods: Pods, client: ServerClient) -> None:
    create_service(client, pods.namespace, "web", selector={"app": "web"})
    pods.create("ready", shell("sleep 3600"), labels={"app": "web"})
    address = pods.wait_ready("ready")["status"]["podIP"]
    names = [f"web.{pods.namespace}{rest}" for rest in ("", ".svc", ".svc.cluster.local")]
    each = f"for name in web {' '.join(names)}"
    output = pods.run(f"{each}; do until getent hosts $name; do sleep 0.1; done; done")
    assert [line.split()[0] for line in output.splitlines()] == [address] * 4


def test_a_bare_name_is_for_its_own_namespace_only(pods: Pods, client: ServerClient) -> None:
    create_service(client, pods.namespace, pods.namespace, selector={"app": "web"})
    pods.create("ready", shell("sleep 3600"), labels={"app": "web"})
    pods.wait_ready("ready")
    elsewhere = Pods(pods.cluster, "default")
    full = f"{pods.namespace}.{pods.namespace}"
    script = f"until getent hosts {full}; do sleep 0.1; done; ! getent hosts {pods.namespace}"
    name = f"from-{pods.namespace}"
    elsewhere.create(name, shell(script))
    try:
        pod = elsewhere.wait_phase(name, "Succeeded", "Failed")
        assert pod["status"]["phase"] == "Succeeded"
    finally:
        elsewhere.delete(name)


def test_a_hostname_below_a_headless_service(pods: Pods, client: ServerClient) -> None:
    create_service(client, pods.namespace, "sub", selector={"app": "a"})
    pods.create("a", shell("sleep 3600"), labels={"app": "a"}, hostname="one", subdomain="sub")
    address = pods.wait_ready("a")["status"]["podIP"]
    name = f"one.sub.{pods.namespace}.svc.cluster.local"
    assert pods.run(wait_for_name(name)).split() == [address]


def test_a_running_pod_sees_names_come_and_go(pods: Pods, client: ServerClient) -> None:
    create_service(client, pods.namespace, "web", selector={"app": "web"})
    script = (
        "until getent hosts web; do sleep 0.1; done; while getent hosts web; do sleep 0.1; done"
    )
    pods.create("client", shell(script))
    pods.wait_ready("client")
    pods.create("ready", shell("sleep 3600"), labels={"app": "web"})
    pods.wait_ready("ready")
    pods.wait_log("client", "web")
    pods.delete("ready")
    pods.wait_phase("client", "Succeeded")
