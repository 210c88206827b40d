"""Installs manifests, such that whoever comes next can use the kinds that they define."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from localcluster import clock
from localcluster.cluster import Cluster
from localcluster.errors import LocalClusterError
from localcluster.rest import Client, Raw

SERVED_SECONDS = 60.0
AGGREGATED_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def install(
    cluster: Cluster, file: str | Path = "-", stdin: str = "", verb: Sequence[str] = ("create",)
) -> list[Raw]:
    """Create, or apply, the objects of a file; returns them when the kinds among them are served.

    Raises LocalClusterError.
    """
    done = cluster.kubectl(*verb, "-f", str(file), "-o", "json", stdin=stdin)
    objects = parse_stream(done.stdout)
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            _wait_served(cluster, each)
    return objects


def without(kind: str, file: Path) -> str:
    """The documents of a manifest but those of this kind."""
    documents = yaml.safe_load_all(file.read_text())
    return yaml.safe_dump_all(each for each in documents if each and each["kind"] != kind)


def parse_stream(text: str) -> list[Raw]:
    """The JSON objects that stand one after the other, as kubectl prints them; of lists the items.

    (`create` prints objects, `apply` a list of them where there are several.)
    """
    decoder, objects = json.JSONDecoder(), list[Raw]()
    text = text.strip()
    while text:
        parsed, end = decoder.raw_decode(text)
        objects += parsed["items"] if parsed["kind"] == "List" else [parsed]
        text = text[end:].lstrip()
    return objects


def _wait_served(cluster: Cluster, crd: Raw) -> None:
    """Wait until objects can be created and kubectl finds their kind.

    Both come a moment after the condition Established, in either order.
    """
    spec = crd["spec"]
    for version in (each["name"] for each in spec["versions"] if each["served"]):
        kind = (spec["group"], version, spec["names"]["plural"])
        if not clock.wait_until(partial(_is_served, cluster.client, *kind), SERVED_SECONDS):
            name = "/".join(kind)
            raise LocalClusterError(f"not served within {SERVED_SECONDS:.0f} s: {name}")


def _is_served(client: Client, group: str, version: str, plural: str) -> bool:
    is_listed = client.is_ok(f"/apis/{group}/{version}/{plural}?limit=1")
    return is_listed and plural in _discovered(client, group, version)


def _discovered(client: Client, group: str, version: str) -> set[str]:
    """The resources of a version in the one answer by which kubectl learns of all kinds.

    https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
    """
    groups = json.loads(client.send("GET", "/apis", accept=AGGREGATED_DISCOVERY))["items"]
    return {
        resource["resource"]
        for each in groups
        if each["metadata"]["name"] == group
        for served in each["versions"]
        if served["version"] == version
        for resource in served.get("resources", [])
    }
