"""Changes that Kueue's admission makes to a role's pods: node selectors, tolerations, labels.

They come from the assigned ResourceFlavors and from admission checks. They are applied when a pod's
manifest is built and are not written to the job, so an eviction has nothing to undo.
"""

from collections.abc import Iterator

from api.constants import ANNOTATION_WORKLOAD, LABEL_POD_SET, TOPOLOGY_GATE, Role
from api.objects import Raw
from reconcile.model.plan import Child
from reconcile.model.view import View
from reconcile.model.workload import FLAVOR, flavors_of, is_admitted, places_pods

TOPOLOGY = "kueue.x-k8s.io/podset-"
LEVELS = ("required-topology", "preferred-topology", "unconstrained-topology")
"""The annotations by which a template asks for a topology, without their prefix TOPOLOGY."""


def assigned_flavors(view: View) -> list[Child]:
    """Kind and name of each flavor that the pods need."""
    names = {name for role in view.job.spec.roles for name in flavors_of(view.workload, role)}
    return [(FLAVOR, name) for name in sorted(names)]


def find_conflict(view: View) -> str:
    """The first conflict of Kueue with the template, or between changes by Kueue; empty if none."""
    for role, spec in view.job.spec.roles.items():
        template = spec.template.get("metadata") or {}
        places = {"nodeSelector": spec.pod_spec, "labels": template, "annotations": template}
        own = {field: dict(place.get(field) or {}) for field, place in places.items()}
        for source, wanted in _updates(view, role):
            for field in places:
                for key, value in (wanted.get(field) or {}).items():
                    if own[field].setdefault(key, value) != value:
                        theirs = f"{source} wants {field} {key}={value} for {role}"
                        return f"{theirs}, but it is {own[field][key]} already"
    return ""


def placed_metadata(view: View, role: Role, field: str) -> dict[str, str]:
    """The labels or annotations that a role's pods get because Kueue admitted the Workload."""
    found: dict[str, str] = {}
    if places_pods(view.workload, role):
        found |= _for_ungater(view, role, field)
    for _, wanted in _updates(view, role):
        found |= wanted.get(field) or {}
    return found


def placed_spec(view: View, role: Role, spec: Raw) -> Raw:
    """The fields of a role's pod spec that an admission changes, each with its new value."""
    changed: Raw = {}
    tolerations = list(spec.get("tolerations") or ())
    for _, wanted in _updates(view, role):
        if selector := wanted.get("nodeSelector"):
            before = changed.get("nodeSelector") or spec.get("nodeSelector") or {}
            changed["nodeSelector"] = before | selector
        tolerations += (t for t in wanted.get("tolerations") or () if t not in tolerations)
    if len(tolerations) > len(spec.get("tolerations") or ()):
        changed["tolerations"] = tolerations
    if places_pods(view.workload, role):
        changed["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": TOPOLOGY_GATE}]
    return changed


def _for_ungater(view: View, role: Role, field: str) -> dict[str, str]:
    """The labels or annotations by which Kueue finds the pods for which it chooses nodes."""
    if field == "labels":
        return {LABEL_POD_SET: str(role)}
    template = view.job.spec.roles[role].template.get("metadata") or {}
    is_asked = any(f"{TOPOLOGY}{key}" in (template.get("annotations") or {}) for key in LEVELS)
    own = {ANNOTATION_WORKLOAD: view.job.workload_name}
    return own if is_asked else own | {f"{TOPOLOGY}unconstrained-topology": "true"}


def _updates(view: View, role: Role) -> Iterator[tuple[str, Raw]]:
    """The changes that each source makes to a role's pods, with the name of the source."""
    if view.workload is None or not is_admitted(view.workload):
        return
    for name in flavors_of(view.workload, role):
        spec = view.observed.unwatched_objects.get((FLAVOR, name), {}).get("spec") or {}
        fields = {"nodeSelector": spec.get("nodeLabels"), "tolerations": spec.get("tolerations")}
        yield f"flavor {name}", fields
    for check in view.workload["status"].get("admissionChecks") or ():
        for update in check.get("podSetUpdates") or () if check.get("state") == "Ready" else ():
            if update["name"] == role:
                yield f"admission check {check['name']}", update
