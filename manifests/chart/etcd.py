"""The values of the etcd for elastic jobs, and those of an image: the operator's has the same."""

from pathlib import Path

import yaml

from manifests.chart.tree import Section, Value
from manifests.chart.types import (
    AMOUNTS,
    LABELS,
    NAMESPACES,
    pod_schema,
)

OBJECTS = [*yaml.safe_load_all((Path(__file__).parents[1] / "elastic" / "etcd.yaml").read_text())]
"""What makes the etcd of one namespace."""
(_CONTAINER,) = OBJECTS[1]["spec"]["template"]["spec"]["containers"]
_REPOSITORY, _, ETCD_TAG = _CONTAINER["image"].partition(":")


def image(comment: str, repository: str, tag: str) -> Section:
    """The values of an image; `tag` says which tag an empty one means."""
    values = (
        Value(
            "registry",
            "",
            {"type": "string", "pattern": "^([^/@\\s]+(/[^:/@\\s]+)*)?$"},
            "Its registry, put before the repository; empty: `repository` has it already.",
        ),
        Value(
            "repository",
            repository,
            {"type": "string", "pattern": "^([^/@\\s]+/)?[^:@\\s]+$"},
            "Its repository, without tag and digest.",
        ),
        Value(
            "tag",
            "",
            {"type": "string", "pattern": "^[-.\\w]{0,128}$"},
            f"Its tag; empty: {tag}.",
        ),
        Value(
            "digest",
            "",
            {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            "Its digest, `sha256:...`, which overrides the tag.",
        ),
        Value(
            "pullPolicy",
            "",
            {"enum": ["", "Always", "IfNotPresent", "Never"]},
            "When to pull it; empty: Kubernetes' own default.",
        ),
        Value(
            "pullSecrets",
            [],
            pod_schema("imagePullSecrets"),
            "Secrets with the login to the registry: `- name: ...`.",
        ),
    )
    return Section("image", comment, values)


ETCD = Section(
    "elasticEtcd",
    "The etcd through which the launchers of elastic jobs meet: docs/elastic.md.",
    (
        Value("namespaces", [], NAMESPACES, "The namespaces that get an etcd; they must exist."),
        image("Its image.", _REPOSITORY, ETCD_TAG),
        Value("labels", {}, LABELS, "More labels of its objects."),
        Value("podLabels", {}, LABELS, "More labels of its pods."),
        Value("nodeSelector", {}, LABELS, "Labels that a node must have to run it."),
        Value("tolerations", [], pod_schema("tolerations"), "Taints of nodes that it tolerates."),
        Value("resources", _CONTAINER["resources"], AMOUNTS, "Its resource requests and limits."),
    ),
)
