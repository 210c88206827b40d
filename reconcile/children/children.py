"""Changes the children of a live job: deletes unwanted ones, creates missing ones."""

from dataclasses import replace
from functools import partial

from api.constants import Condition, Intranet, Role
from api.objects import name_of
from reconcile.attempt.elastic import replacement_delay
from reconcile.children.cleanup import wanted_deletes
from reconcile.children.host_ports import seconds_to_ports
from reconcile.children.refusals import wanted_patches
from reconcile.children.wake import next_wake
from reconcile.children.workload import workload_creates, workload_deletes
from reconcile.model.hold import Stop, earliest
from reconcile.model.plan import Create, Plan
from reconcile.model.view import View
from reconcile.objects.gang import Gang, find_gang, own_pod_group_creates
from reconcile.objects.rendezvous import all_have_addresses, build_config_map
from reconcile.objects.services import build_service
from reconcile.objects.templates import build_pod

SERVICES_AHEAD = 32
"""Services are created for this many pods at a time: without the pods, more would be useless."""

MAX_PLANNED = 1000
"""The most pods that one plan creates, which is more than one pass can send. Listing ten thousand
in every pass takes 30 ms; thirty such jobs at once kept the interpreter busy.
"""


def change_children(view: View, stop: Stop) -> Plan:
    """A plan without a status: the deletes and patches, and the creates that no hold stops."""
    deletes = wanted_deletes(view) + workload_deletes(view)
    again, waits = next_wake(view)
    kept = Plan(deletes, wanted_patches(view), requeue_after=again, waits=waits)
    queues = workload_creates(view) if stop < Stop.CREATES else ()
    if view.job.status.is_true(Condition.SUSPENDED) or view.is_adopted:
        return replace(kept, creates=tuple(filter(None, (queues,))))
    if stop is Stop.PODS:
        both = (queues, _config_map_creates(view))
        return replace(kept, creates=tuple(filter(None, both)))
    if stop is Stop.CREATES:
        return kept
    names, wait = _names_to_create(view)
    creates = _create_groups(view, find_gang(view), names)
    return replace(kept, creates=creates, requeue_after=earliest(wait, again))


def _names_to_create(view: View) -> tuple[tuple[str, ...], float | None]:
    """Missing pods that can be created now, and the seconds until another one can be."""
    if not view.job.spec.is_elastic:
        return view.lacking, None
    names, waits = [], []
    for name in view.lacking:
        delay = replacement_delay(view, name) or seconds_to_ports(view, name)
        if delay:
            waits.append(delay)
        else:
            names.append(name)
    return tuple(names), min(waits, default=None)


def _create_groups(
    view: View, gang: Gang | None, names: tuple[str, ...]
) -> tuple[tuple[Create, ...], ...]:
    names, later = names[:MAX_PLANNED], frozenset(names[MAX_PLANNED:])
    services, missing = _service_creates(view, later), frozenset(names)
    others = tuple(create for name, create in services.items() if name not in missing)
    groups = [own_pod_group_creates(view, gang) if gang else (), others]
    for start in range(0, len(names), SERVICES_AHEAD):
        part = names[start : start + SERVICES_AHEAD]
        groups.append(tuple(services[name] for name in part if name in services))
        groups += (_pod_creates(view, gang, role, part) for role in view.job.spec.roles)
    groups.append(_config_map_creates(view))
    return tuple(group for group in groups if group)


def _service_creates(view: View, later: frozenset[str]) -> dict[str, Create]:
    """The missing Services, by name, without those of pods that are created later."""
    if view.job.spec.intranet is not Intranet.SERVICE:
        return {}
    existing = {name_of(service) for service in view.observed.services}
    return {
        name: Create("Service", name, partial(build_service, view, name))
        for name in view.wanted
        if name not in existing and name not in later
    }


def _pod_creates(
    view: View, gang: Gang | None, role: Role, names: tuple[str, ...]
) -> tuple[Create, ...]:
    return tuple(
        Create("Pod", name, partial(build_pod, view, name, gang))
        for name in names
        if view.wanted[name][0] is role
    )


def _config_map_creates(view: View) -> tuple[Create, ...]:
    if view.job.spec.is_elastic or view.config_map is not None or not all_have_addresses(view):
        return ()
    return (Create("ConfigMap", view.config_map_name, partial(build_config_map, view)),)
