"""Installs manifests, and waits until the API server serves the kinds of their CRDs."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from localcluster.client.rest import Raw
from localcluster.cluster.cluster import Cluster
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError

SERVED_SECONDS = 600.0
ACCOUNT_SECONDS = 600


def install(
    cluster: Cluster, file: str | Path = "-", stdin: str = "", verb: Sequence[str] = ("create",)
) -> list[Raw]:
    """Create or apply the objects of a file ("-" is `stdin`), wait until the kinds of its CRDs are
    served, and return the objects. Raises LocalClusterError.
    """
    done = cluster.kubectl(*verb, "-f", str(file), "-o", "json", stdin=stdin)
    objects = parse_stream(done.stdout)
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            _wait_served(cluster, each)
    return objects


def without(kind: str, file: Path) -> str:
    """The YAML of a manifest without its objects of this kind."""
    documents = yaml.safe_load_all(file.read_text())
    return yaml.safe_dump_all(each for each in documents if each and each["kind"] != kind)


def parse_stream(text: str) -> list[Raw]:
    """Parse consecutive JSON objects, as kubectl prints them; a list yields its items.

    (`create` prints objects, `apply` a list if there are several.)
    """
    decoder, objects = json.JSONDecoder(), list[Raw]()
    text = text.strip()
    while text:
        parsed, end = decoder.raw_decode(text)
        objects += parsed["items"] if parsed["kind"] == "List" else [parsed]
        text = text[end:].lstrip()
    return objects


def _wait_served(cluster: Cluster, crd: Raw) -> None:
    """Wait until kubectl can list the kind, a moment after the CRD is Established."""
    spec = crd["spec"]
    for version in (each["name"] for each in spec["versions"] if each["served"]):
        kind = f"{spec['names']['plural']}.{version}.{spec['group']}"
        if not clock.wait_until(partial(_is_listed, cluster, kind), SERVED_SECONDS):
            raise LocalClusterError(f"not served within {SERVED_SECONDS:.0f} s: {kind}")


def _is_listed(cluster: Cluster, kind: str) -> bool:
    cluster.raise_if_dead()
    return cluster.kubectl("get", kind, check=False).returncode == 0


def create_objects(cluster: Cluster, objects: list[Raw], namespace: str) -> str:
    """Create objects, by default in `namespace`; return kubectl's output.

    Namespaces are created first: those among the objects, and `namespace` if it does not exist.
    """
    spaces = [each for each in objects if each.get("kind") == "Namespace"]
    others = [each for each in objects if each.get("kind") != "Namespace"]
    said = ""
    if spaces:  # `apply`, because a file can contain `default`, which exists
        said = cluster.kubectl("apply", "-f", "-", stdin=as_stream(spaces)).stdout
    if cluster.client.find(f"/api/v1/namespaces/{namespace}") is None:
        cluster.kubectl("create", "namespace", namespace)
    wait = ("wait", "--for=create", "serviceaccount/default", f"--timeout={ACCOUNT_SECONDS}s")
    for name in {namespace, *(each["metadata"]["name"] for each in spaces)}:
        cluster.kubectl("-n", name, *wait)
    if not others:
        return said
    create = ("-n", namespace, "create", "-f", "-")
    return said + cluster.kubectl(*create, stdin=as_stream(others)).stdout


def as_stream(objects: list[Raw]) -> str:
    """The objects as JSON, because kubectl takes some strings in PyYAML's output for numbers."""
    return "".join(json.dumps(each, default=str) + "\n" for each in objects)
