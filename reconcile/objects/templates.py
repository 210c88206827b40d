"""The pod that a role's template becomes.

The template is used as it is, except for names, owner, our labels and annotations, hostname and
subdomain, hostNetwork and ports (Host), the gang's scheduler and group, additions by Kueue's
admission, restartPolicy and terminationMessagePolicy if they are unset, affinity if a rule below
asks for it, and the trainer container's environment.
"""

from collections.abc import Iterator
from typing import Any

from api.constants import (
    ANNOTATION_GROUP_NAME,
    ANNOTATION_RESOURCE,
    ANNOTATION_WOKEN,
    APP_NAME,
    LABEL_APP_COMPONENT,
    LABEL_APP_INSTANCE,
    LABEL_APP_NAME,
    LABEL_INDEX,
    LABEL_JOB_UID,
    LABEL_RES_NAME,
    LABEL_RES_TYPE,
    LABEL_ROLE,
    VOLCANO,
    Intranet,
    Mode,
    Role,
)
from api.objects import Raw
from api.trainer import trainer_name
from reconcile.model.view import View
from reconcile.objects.addresses import port_of
from reconcile.objects.environment import build_env, build_env_from, merge_env
from reconcile.objects.flavors import placed_metadata, placed_spec
from reconcile.objects.gang import Gang, GangKind
from reconcile.objects.rendezvous import child_labels

HOSTNAME_KEY = "kubernetes.io/hostname"
APP_PREFIX = "app.kubernetes.io/"
"""The recommended labels, which tools of the user read: a template's own stay."""
NAME_FIELD = "metadata.name"
AVOID_NODES_WEIGHT = 100
MESSAGE_POLICY = "FallbackToLogsOnError"
"""With this policy, the failure record has the last lines of the log."""


def build_pod(view: View, name: str, gang: Gang | None) -> Raw:
    """The pod with this name, ready to be created."""
    role, index = view.wanted[name]
    metadata = view.job.spec.roles[role].template.get("metadata") or {}
    placed = placed_metadata(view, role, "labels")
    wanted = metadata.get("labels") or {}
    kept = {key: text for key, text in wanted.items() if key.startswith(APP_PREFIX)}
    labels = wanted | placed | _labels(view, name, role, index) | kept
    notes = metadata.get("annotations") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{key: metadata[key] for key in ("finalizers",) if key in metadata},
            **view.job.child_metadata(name, labels),
            "annotations": {
                **{key: text for key, text in notes.items() if key != ANNOTATION_WOKEN},
                **placed_metadata(view, role, "annotations"),
                **_annotations(view, gang),
            },
        },
        "spec": _pod_spec(view, name, role, index, gang),
    }


def replaced_fields(view: View, gang: Gang | None) -> list[str]:
    """The fields of templates, variables too, whose values the operator replaces."""
    found: list[str] = []
    for name, (role, index) in view.wanted.items():
        if index == 0:
            template, pod = view.job.spec.roles[role].template, build_pod(view, name, gang)
            wanted, built = template.get("metadata") or {}, pod["metadata"]
            for part in ("labels", "annotations"):
                found += _replaced(wanted.get(part), built[part], f"{role}: metadata.{part}")
            found += _replaced(template.get("spec"), pod["spec"], f"{role}: spec")
    return found


def _replaced(wanted: Any, built: Any, path: str) -> Iterator[str]:
    """The paths of the values that a template sets and the pod does not have."""
    if isinstance(wanted, dict) and isinstance(built, dict):
        for key, value in wanted.items():
            yield from _replaced(value, built.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(built, list):
        named = {each.get("name"): each for each in built if isinstance(each, dict)}
        kept = set(map(repr, built))  # a user's list can be long
        for each in wanted:
            if repr(each) not in kept:
                name = each.get("name") if isinstance(each, dict) else each
                yield from _replaced(each, named.get(name), f"{path}[{name}]")
    elif wanted not in (None, "", [], {}, built):
        yield path


def _labels(view: View, name: str, role: Role, index: int) -> dict[str, str]:
    return {
        **child_labels(view.job, view.attempt),
        LABEL_APP_NAME: APP_NAME,
        LABEL_APP_INSTANCE: view.job.name,
        LABEL_APP_COMPONENT: str(role),
        LABEL_ROLE: str(role),
        LABEL_INDEX: str(index),
        LABEL_RES_NAME: name,
        LABEL_RES_TYPE: str(role),
    }


def _annotations(view: View, gang: Gang | None) -> dict[str, str]:
    annotations = {ANNOTATION_RESOURCE: str(view.job.spec.mode)}
    if gang is not None and gang.kind is GangKind.VOLCANO:
        annotations[ANNOTATION_GROUP_NAME] = gang.name
    return annotations


def _pod_spec(view: View, name: str, role: Role, index: int, gang: Gang | None) -> Raw:
    template = view.job.spec.roles[role].pod_spec
    spec: Raw = {
        **template,
        **placed_spec(view, role, template),
        "hostname": name,
        "subdomain": name,
        "restartPolicy": template.get("restartPolicy") or "Never",
        "containers": _containers(view, name, role, index),
    }
    if template.get("initContainers"):
        spec["initContainers"] = [_with_messages(c) for c in template["initContainers"]]
    if view.job.spec.intranet is Intranet.HOST:
        spec["hostNetwork"] = True
        spec.setdefault("dnsPolicy", "ClusterFirstWithHostNet")
    affinity = _affinity(view, template.get("affinity") or {}, role)
    if affinity:
        spec["affinity"] = affinity
    return spec | _gang_fields(gang)


def _gang_fields(gang: Gang | None) -> Raw:
    if gang is None:
        return {}
    if gang.kind is GangKind.VOLCANO:
        return {"schedulerName": VOLCANO}
    return {"schedulingGroup": {"podGroupName": gang.name}}


def _containers(view: View, name: str, role: Role, index: int) -> list[Raw]:
    template = view.job.spec.roles[role].pod_spec
    trainer = trainer_name(template)
    containers = []
    for container in template.get("containers") or ():
        container = _with_messages(container)
        if container["name"] == trainer:
            container = _with_rendezvous(view, container, name, role, index)
        containers.append(container)
    return containers


def _with_messages(container: Raw) -> Raw:
    return {"terminationMessagePolicy": MESSAGE_POLICY, **container}


def _with_rendezvous(view: View, container: Raw, name: str, role: Role, index: int) -> Raw:
    env = build_env(view, name, role, index)
    container = {
        **container,
        "env": merge_env(view, env, container.get("env") or []),
        "envFrom": [*(container.get("envFrom") or ()), *build_env_from(view)],
    }
    if role in view.host_roles:
        port = port_of(view, name)
        own = {"name": "paddle", "containerPort": port, "hostPort": port, "protocol": "TCP"}
        others = (p for p in container.get("ports") or () if p.get("name") != "paddle")
        container["ports"] = [*others, own]
    return container


def _affinity(view: View, template: Raw, role: Role) -> Raw:
    affinity = dict(template)
    if role in view.host_roles and view.job.spec.mode is Mode.COLLECTIVE:
        rule = "requiredDuringSchedulingIgnoredDuringExecution"
        affinity = _append(affinity, "podAntiAffinity", rule, _one_per_host(view, role))
    if nodes := view.job.status.avoid_nodes:
        # A node's label of its host name can differ. The API server takes one value a field.
        others = [{"key": NAME_FIELD, "operator": "NotIn", "values": [node]} for node in nodes]
        term = {"weight": AVOID_NODES_WEIGHT, "preference": {"matchFields": others}}
        rule = "preferredDuringSchedulingIgnoredDuringExecution"
        affinity = _append(affinity, "nodeAffinity", rule, term)
    return affinity


def _append(affinity: Raw, kind: str, rule: str, term: Any) -> Raw:
    section = affinity.get(kind) or {}
    return {**affinity, kind: {**section, rule: [*(section.get(rule) or ()), term]}}


def _one_per_host(view: View, role: Role) -> Raw:
    """Keep the role's pods on different nodes.

    PaddlePaddle's launcher counts distinct hosts, so two pods on one host would each train alone.
    """
    labels = {LABEL_JOB_UID: view.job.uid, LABEL_ROLE: str(role)}
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME_KEY}
