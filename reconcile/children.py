"""What a live job's children need: delete those in the way, create those that are missing."""

from dataclasses import dataclass

from api.constants import Condition, Intranet, Role
from api.job import pod_name
from api.objects import is_deleting, name_of, uid_of
from reconcile.cleanup import delete_pod
from reconcile.elastic import is_recorded, replacement_delay
from reconcile.gang import (
    Gang,
    find_gang,
    find_hold,
    own_pod_group_creates,
    own_pod_group_deletes,
    own_pod_group_patches,
)
from reconcile.host_ports import PORTS_RETRY_SECONDS, needs_ports
from reconcile.plan import Create, Delete, Patch
from reconcile.pods import PodState
from reconcile.rendezvous import (
    all_have_addresses,
    build_config_map,
    build_variables,
    oversized_variable,
)
from reconcile.restart import back_off_seconds
from reconcile.services import build_service
from reconcile.templates import build_pod
from reconcile.view import View


@dataclass(frozen=True, slots=True)
class Changes:
    """What a pass does to the children. `requeue_after`: seconds until it may do more."""

    deletes: tuple[Delete, ...] = ()
    patches: tuple[Patch, ...] = ()
    creates: tuple[tuple[Create, ...], ...] = ()
    requeue_after: float | None = None


def change_children(view: View) -> Changes:
    """Deletes first; creates once no pod of an ended attempt is left and nothing holds them."""
    if view.job.status.is_true(Condition.SUSPENDED):
        return Changes(deletes=_obsolete_deletes(view) + own_pod_group_deletes(view))
    deletes = _obsolete_deletes(view) + _replaced_deletes(view)
    if view.remains:
        return Changes(deletes)
    hold = _seconds_to_hold(view)
    if hold:
        return Changes(deletes, requeue_after=hold)
    gang = find_gang(view)
    if gang and gang.is_users:
        deletes += own_pod_group_deletes(view)
    gang_hold = find_hold(view, gang) if gang else None
    if gang_hold is not None:
        creates = tuple(filter(None, (_config_map_creates(view),)))
        return Changes(deletes, creates=creates, requeue_after=gang_hold.seconds)
    patches = own_pod_group_patches(view, gang) if gang else ()
    names, wait = _names_to_create(view)
    return Changes(deletes, patches, _create_groups(view, gang, names), wait)


def _obsolete_deletes(view: View) -> tuple[Delete, ...]:
    pods = view.all_pods if view.job.status.is_true(Condition.SUSPENDED) else view.obsolete
    return (
        tuple(delete_pod(pod) for pod in pods if not pod.is_deleting)
        + _surplus_services(view)
        + tuple(
            Delete("ConfigMap", name_of(config_map), uid_of(config_map))
            for config_map in view.old_config_maps()
            if not is_deleting(config_map)
        )
    )


def _surplus_services(view: View) -> tuple[Delete, ...]:
    return tuple(
        Delete("Service", name_of(service), uid_of(service))
        for service in view.observed.services
        if name_of(service) not in view.wanted and not is_deleting(service)
    )


def _replaced_deletes(view: View) -> tuple[Delete, ...]:
    """Failed workers of an elastic job whose failure stands in status."""
    if not view.job.spec.is_elastic:
        return ()
    return tuple(
        delete_pod(pod)
        for pod in view.pods.values()
        if pod.state is PodState.FAILED and not pod.is_deleting and is_recorded(view, pod)
    )


def _seconds_to_hold(view: View) -> float:
    """Seconds for which nothing may be created; 0 to go on."""
    return back_off_seconds(view) or (PORTS_RETRY_SECONDS if needs_ports(view) else 0.0)


def _names_to_create(view: View) -> tuple[list[str], float | None]:
    """Missing pods that may be created now, and the seconds until the next one may be.

    No pod is created any more once a worker of an elastic job has ended well. A launcher that
    starts wipes what its peers keep in etcd, also that training is over: they would train again.
    """
    if view.job.spec.is_elastic and view.completed[Role.WORKER]:
        return [], None
    names, waits = [], []
    for name in view.missing:
        delay = replacement_delay(view, name) if view.job.spec.is_elastic else 0.0
        if delay:
            waits.append(delay)
        else:
            names.append(name)
    return names, min(waits, default=None)


def _create_groups(
    view: View, gang: Gang | None, names: list[str]
) -> tuple[tuple[Create, ...], ...]:
    groups = [
        own_pod_group_creates(view, gang) if gang else (),
        _service_creates(view),
        *(_pod_creates(view, gang, role, names) for role in view.job.spec.roles),
        _config_map_creates(view),
    ]
    return tuple(group for group in groups if group)


def _service_creates(view: View) -> tuple[Create, ...]:
    if view.job.spec.intranet is not Intranet.SERVICE:
        return ()
    existing = {name_of(service) for service in view.observed.services}
    return tuple(Create(build_service(view, name)) for name in view.wanted if name not in existing)


def _pod_creates(view: View, gang: Gang | None, role: Role, names: list[str]) -> tuple[Create, ...]:
    wanted = set(names)
    replicas = view.job.spec.roles[role].replicas
    candidates = (pod_name(view.job.name, role, index) for index in range(replicas))
    return tuple(Create(build_pod(view, name, gang)) for name in candidates if name in wanted)


def _config_map_creates(view: View) -> tuple[Create, ...]:
    if view.job.spec.is_elastic or view.config_map is not None or not all_have_addresses(view):
        return ()
    if oversized_variable(build_variables(view)):
        return ()
    return (Create(build_config_map(view)),)
