"""The attempt's ConfigMap: the one place where processes learn who their peers are.

It is created when every pod of the attempt has its address, and never changed. Trainers cannot
start before it exists, so none ever reads an incomplete list or another attempt's list.

A process never reads another job's list either. A trainer does not start without a key with the
job's UID in its name, and only this job's ConfigMaps have that key. Other ConfigMaps of the same
name lack the key: one that a user created, or one that a deleted job has left.
"""

from api.constants import (
    LABEL_APP_MANAGED_BY,
    LABEL_ATTEMPT,
    LABEL_JOB_NAME,
    LABEL_JOB_UID,
    MANAGED_BY,
    MAX_ENV_VALUE_BYTES,
    PORTS_PER_POD,
    Role,
)
from api.job import PaddleJob
from api.objects import Raw
from api.trainer import trainer_of
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.objects.addresses import endpoints_of, format_endpoint, host_of, hosts_of, port_of
from reconcile.objects.launcher import count_processes

GLOO_RENDEZVOUS_HTTP = "3"
"""Fleet's role maker: 1 is HDFS, 2 a file, 3 an HTTP server on the first server."""

RENDEZVOUS_VARIABLE = "PADDLE_RENDEZVOUS"
"""The variable with the attempt's number, from a key that only this job's ConfigMaps have."""

CONFIG_MAP_VARIABLES = frozenset(
    {
        *("PADDLE_JOB_NAME", "PADDLE_IS_LOCAL", "PADDLE_PORT", "TRAINER_PORTS_NUM"),
        *("PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINERS", "PADDLE_TRAINERS_NUM"),
        *("PADDLE_TRAINER_IPS", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_PSERVERS"),
        *("PADDLE_PSERVERS_NUM", "PADDLE_WITH_GLOO", "PADDLE_GLOO_RENDEZVOUS"),
        *("PADDLE_GLOO_HTTP_ENDPOINT", "PADDLE_HETER_ENDPOINTS"),
        "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST",
    }
)
"""Names that the ConfigMap can contain; a template's entries with these names are dropped."""

PLAIN_VARIABLES = ("NNODES", "MASTER_ADDR", "MASTER_PORT")
"""paddleformers-cli and erniekit pass these to the launcher; a template's entries win."""

ENDPOINT_LISTS = {
    Role.PS: "PADDLE_PSERVERS_IP_PORT_LIST",
    Role.WORKER: "PADDLE_TRAINER_ENDPOINTS",
    Role.HETER: "PADDLE_HETER_ENDPOINTS",
}
"""The variables of the ConfigMap with each role's endpoints, in index order."""

HOST_LIST = "PADDLE_IPS"
"""The variable with the workers' hosts; only for launchers that use it instead of endpoints."""

PUBLISHED_LISTS = (*ENDPOINT_LISTS.values(), HOST_LIST)
"""The variables in which peers find pods' addresses."""


def rendezvous_key(job: PaddleJob) -> str:
    """The key that only this job's ConfigMaps have; a valid name of a variable, for envFrom."""
    return f"{RENDEZVOUS_VARIABLE}_{job.uid.replace('-', '_')}"


def all_have_addresses(view: View) -> bool:
    """Whether every wanted pod exists, has its address, and is alive or has succeeded.

    Pods can have succeeded already if somebody deleted the ConfigMap and it must be made again.
    """
    return len(view.pods) == len(view.wanted) and all(
        pod.address and (pod.is_live or pod.state is PodState.SUCCEEDED)
        for pod in view.pods.values()
    )


def build_config_map(view: View) -> Raw:
    """The attempt's ConfigMap; call this only when `all_have_addresses`."""
    job = view.job
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.child_metadata(view.config_map_name, child_labels(job, view.attempt)),
        "immutable": True,
        "data": {rendezvous_key(job): str(view.attempt), **build_variables(view)},
    }


def child_labels(job: PaddleJob, attempt: int) -> dict[str, str]:
    """The labels that children have in common. A Workload and a kept log lack one of them."""
    return {
        LABEL_JOB_NAME: job.name,
        LABEL_JOB_UID: job.uid,
        LABEL_ATTEMPT: str(attempt),
        LABEL_APP_MANAGED_BY: MANAGED_BY,
    }


def build_variables(view: View) -> dict[str, str]:
    """Environment variables that are the same for every pod of the attempt."""
    trainers = endpoints_of(view, Role.WORKER)
    trainer_hosts = ",".join(hosts_of(view, Role.WORKER))
    variables = {
        "PADDLE_JOB_NAME": view.job.name,
        "PADDLE_IS_LOCAL": "0",
        "PADDLE_PORT": str(view.port),
        "TRAINER_PORTS_NUM": str(PORTS_PER_POD),
        **(_peer_list(view) or {ENDPOINT_LISTS[Role.WORKER]: ",".join(trainers)}),
        "PADDLE_TRAINERS": trainer_hosts,
        "PADDLE_TRAINER_IPS": trainer_hosts,
        "PADDLE_TRAINERS_NUM": str(len(trainers)),
    }
    if Role.PS in view.job.spec.roles:
        variables |= _server_variables(view)
    if view.job.spec.has_workers_only and trainers:
        host, _, port = trainers[0].rpartition(":")
        variables |= zip(PLAIN_VARIABLES, (str(len(trainers)), host, port), strict=True)
    if Role.HETER in view.job.spec.roles:
        heter = ",".join(endpoints_of(view, Role.HETER))
        variables["PADDLE_HETER_ENDPOINTS"] = heter
        variables["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"] = heter
    return variables


def oversized_variable(variables: dict[str, str]) -> str | None:
    """The name of a variable that the kernel would refuse, or None."""
    sizes = {name: len(value.encode()) for name, value in variables.items()}
    return next((name for name, size in sizes.items() if size > MAX_ENV_VALUE_BYTES), None)


def moved_pods(view: View) -> list[str]:
    """Names of live pods whose address is not the one in the attempt's ConfigMap."""
    return [pod.name for pod in view.pods.values() if pod.is_live and has_moved(view, pod)]


def has_moved(view: View, pod: PodView) -> bool:
    """Whether the pod's address differs from the one in the attempt's ConfigMap.

    Also False without a ConfigMap or an address, and if the store has dropped the endpoints because
    the namespace's ConfigMaps take too much memory. True if the pod's role label is unreadable.
    """
    if view.config_map is None or not pod.address:
        return False
    if pod.role is None:
        return True
    address = host_of(view, pod.name)
    told = view.published.get(HOST_LIST) if pod.role is Role.WORKER else None
    if told is None:
        address = format_endpoint(address, port_of(view, pod.name))
        told = view.published.get(ENDPOINT_LISTS[pod.role])
    return told is not None and (pod.index >= len(told) or told[pod.index] != address)


def has_static_rendezvous(view: View) -> bool:
    """Whether the workers' launchers get a fixed list of peers instead of meeting over HTTP.

    The list cannot contain IPv6 addresses. Its ports are fixed, and on the host network they can be
    taken.
    """
    spec = view.job.spec
    worker = spec.roles.get(Role.WORKER)
    if worker is None or worker.replicas == 1 or not spec.has_workers_only:
        return False
    processes = count_processes(trainer_of(worker.pod_spec))
    return (
        view.job.static_rendezvous
        and Role.WORKER not in spec.host_roles
        and processes is not None
        and processes <= PORTS_PER_POD
        and not any(":" in host for host in hosts_of(view, Role.WORKER))
    )


def _peer_list(view: View) -> dict[str, str]:
    """The variables that the launcher reads if it finds no endpoints.

    With PADDLE_NNODES, a launcher too old to read the list waits instead of training alone.
    """
    if not has_static_rendezvous(view):
        return {}
    hosts = hosts_of(view, Role.WORKER)
    return {
        HOST_LIST: ",".join(hosts),
        "PADDLE_START_PORT": str(view.port),
        "PADDLE_NNODES": str(len(hosts)),
    }


def _server_variables(view: View) -> dict[str, str]:
    hosts = hosts_of(view, Role.PS)
    endpoints = endpoints_of(view, Role.PS)
    with_gloo = view.job.spec.with_gloo
    variables = {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(endpoints),
        "PADDLE_PSERVERS": ",".join(hosts),
        "PADDLE_PSERVERS_NUM": str(len(endpoints)),
        "PADDLE_WITH_GLOO": str(with_gloo),
    }
    if with_gloo:
        first = next(name for name, (role, _) in view.wanted.items() if role is Role.PS)
        port = port_of(view, first) + PORTS_PER_POD - 2
        variables["PADDLE_GLOO_RENDEZVOUS"] = GLOO_RENDEZVOUS_HTTP
        variables["PADDLE_GLOO_HTTP_ENDPOINT"] = format_endpoint(hosts[0], port)
    return variables


def is_about_config_map(view: View, message: str) -> bool:
    """Whether a kubelet says that the attempt's ConfigMap is not there, or is another's."""
    is_missing = f'configmap "{view.config_map_name}" not found' in message
    return not view.job.spec.is_elastic and (is_missing or rendezvous_key(view.job) in message)


def has_stale_config_map(view: View, pod: PodView) -> bool:
    """Whether the pod's kubelet still has the ConfigMap of a former job of this name.

    A kubelet never reads an immutable ConfigMap again while one of its pods refers to it. A pod
    that has ended still counts for some seconds, until its volumes are gone (SyncTerminatedPod in
    kubelet.go).
    """
    if view.config_map is None or not pod.is_live:
        return False
    key = rendezvous_key(view.job)
    return any(key in wait.text for wait in pod.waits)
