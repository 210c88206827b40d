"""The kinds that the operator uses, and their API paths."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from api import constants


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One kind at one version. `api_version` is `v1` or `group/version`.

    There is one Resource per kind. Resources compare by identity, so that hashing is fast: they are
    the keys of the store's tables.
    """

    kind: str
    api_version: str
    plural: str

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection or of one object; no namespace means all of them."""
        root = "apis" if self.group else "api"
        parts = [root, self.api_version]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/" + "/".join(parts)


PADDLE_JOB: Final = Resource(constants.KIND, constants.API_VERSION, constants.PLURAL)
POD: Final = Resource("Pod", "v1", "pods")
SERVICE: Final = Resource("Service", "v1", "services")
CONFIG_MAP: Final = Resource("ConfigMap", "v1", "configmaps")
VOLCANO_POD_GROUP: Final = Resource("PodGroup", constants.VOLCANO_API_VERSION, "podgroups")
GANG_POD_GROUP: Final = Resource("PodGroup", constants.GANG_API_VERSION, "podgroups")
WORKLOAD: Final = Resource("Workload", constants.KUEUE_API_VERSION, "workloads")
RESOURCE_FLAVOR: Final = Resource("ResourceFlavor", constants.KUEUE_API_VERSION, "resourceflavors")
WORKLOAD_PRIORITY_CLASS: Final = Resource(
    "WorkloadPriorityClass", constants.KUEUE_API_VERSION, "workloadpriorityclasses"
)
PRIORITY_CLASS: Final = Resource("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses")
NODE: Final = Resource("Node", "v1", "nodes")
EVENT: Final = Resource("Event", "v1", "events")
LEASE: Final = Resource("Lease", "coordination.k8s.io/v1", "leases")

_FAMILY: Final = (PADDLE_JOB, POD, SERVICE, CONFIG_MAP, VOLCANO_POD_GROUP, GANG_POD_GROUP, WORKLOAD)
_BY_TYPE: Final = {(resource.api_version, resource.kind): resource for resource in _FAMILY}


def find_resource(api_version: str, kind: str) -> Resource:
    """The resource of a job or a child, by apiVersion and kind. Raises KeyError for others."""
    return _BY_TYPE[(api_version, kind)]
