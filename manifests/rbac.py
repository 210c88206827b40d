"""What the operator may do, as one table: the Roles, and the ClusterRole, are made from it.

Nothing stands here that the operator does not use; no `*`, no secrets, no pods/exec. The verb
`update` on paddlejobs/finalizers is asked for by the admission plugin
OwnerReferencesPermissionEnforcement wherever a child's owner reference blocks deletion.
"""

from api.constants import GANG_API_VERSION, GROUP, PLURAL, VOLCANO_API_VERSION
from api.objects import Raw

READ = ("list", "watch")
CHILD = ("create", "delete", "get", "list", "watch")
"""`get`, when a name turns out to be taken: is it this job's own?"""

RULES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (GROUP, PLURAL, ("delete", *READ)),
    (GROUP, f"{PLURAL}/status", ("patch",)),
    (GROUP, f"{PLURAL}/finalizers", ("update",)),
    ("", "pods", CHILD),
    ("", "services", CHILD),
    ("", "configmaps", CHILD),
    ("", "events", ("create", "patch")),
    (VOLCANO_API_VERSION.partition("/")[0], "podgroups", (*CHILD, "patch")),
    (GANG_API_VERSION.partition("/")[0], "podgroups", CHILD),
)
"""Group, resource, verbs: in every namespace whose jobs the operator runs."""

CLUSTER_RULES = (("", "nodes", READ),)
"""Only where the operator runs the jobs of all namespaces: pods on lost nodes are found by it."""

LEASE_RULES = (("coordination.k8s.io", "leases", ("create", "get", "update")),)
"""In the operator's own namespace: leader election."""


def policy_rules(table: tuple[tuple[str, str, tuple[str, ...]], ...]) -> list[Raw]:
    """RBAC rules of a table, verbs in order of the alphabet."""
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": sorted(verbs)}
        for group, resource, verbs in table
    ]
