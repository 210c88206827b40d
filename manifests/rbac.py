"""The permissions of the operator and of its users, as tables: all roles are made from them.

The operator is granted only what it uses: no `*`, no secrets, no pods/exec, and logs only if it
reads them. The admission plugin OwnerReferencesPermissionEnforcement requires the verb `update` on
paddlejobs/finalizers if a child's owner reference blocks deletion.
"""

from api.constants import (
    GANG_API_VERSION,
    GROUP,
    KUEUE_API_VERSION,
    PLURAL,
    VOLCANO_API_VERSION,
)
from api.objects import Raw

READ = ("list", "watch")
CHILD = ("create", "delete", "get", "list", "watch")
"""`get` serves to check who owns an object that already has the name of a child."""

Table = tuple[tuple[str, str, tuple[str, ...]], ...]
"""Group, resource, verbs."""

RULES: Table = (
    (GROUP, PLURAL, ("delete", *READ)),
    (GROUP, f"{PLURAL}/status", ("patch",)),
    (GROUP, f"{PLURAL}/finalizers", ("update",)),
    ("", "pods", (*CHILD, "patch")),
    ("", "services", CHILD),
    ("", "configmaps", CHILD),
    ("", "events", ("create", "patch")),
    (VOLCANO_API_VERSION.partition("/")[0], "podgroups", (*CHILD, "patch")),
    (GANG_API_VERSION.partition("/")[0], "podgroups", CHILD),
)
"""Granted in every namespace whose jobs the operator runs."""

CLUSTER_RULES: Table = (
    ("", "nodes", READ),
    ("coordination.k8s.io", "leases", ("list",)),
)
"""Granted only if the operator runs the jobs of all namespaces: to find pods on lost nodes, and
other operators that lead, too."""

KUEUE_API_GROUP = KUEUE_API_VERSION.partition("/")[0]
KUEUE_RULES: Table = (
    (KUEUE_API_GROUP, "workloads", (*CHILD, "patch")),
    (KUEUE_API_GROUP, "workloads/status", ("patch",)),
    (KUEUE_API_GROUP, "resourceflavors", ("get",)),
    (KUEUE_API_GROUP, "workloadpriorityclasses", ("get",)),
    ("scheduling.k8s.io", "priorityclasses", ("get",)),
)
"""Granted in the whole cluster, only with --kueue: flavors and classes have no namespace."""

PROGRESS_RULES: Table = (("", "pods/log", ("get",)),)
"""Granted in every namespace whose jobs the operator runs, only with --progress."""

LEASE_RULES: Table = (("coordination.k8s.io", "leases", ("create", "get", "update")),)
"""Granted in the operator's own namespace, for leader election."""

REVIEW_RULES: Table = (
    ("authentication.k8s.io", "tokenreviews", ("create",)),
    ("authorization.k8s.io", "subjectaccessreviews", ("create",)),
)
"""Granted in the whole cluster, only with --metrics-secure: to check who reads the metrics."""

METRICS_PATH = "/metrics"

VIEW_RULES: Table = (
    (GROUP, PLURAL, ("get", *READ)),
    (GROUP, f"{PLURAL}/status", ("get",)),
)
EDIT_RULES: Table = (
    (GROUP, PLURAL, ("create", "delete", "deletecollection", "get", "patch", "update", *READ)),
    (GROUP, f"{PLURAL}/status", ("get",)),
    (GROUP, f"{PLURAL}/scale", ("get", "patch", "update")),
)
USER_ROLES: dict[str, tuple[Table, tuple[str, ...]]] = {
    "jobs-view": (VIEW_RULES, ("view",)),
    "jobs-edit": (EDIT_RULES, ("edit", "admin")),
}
"""Name, rules, and the default roles of Kubernetes that include them. A user who creates a job
creates pods, and `edit` allows that anyway."""
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


def policy_rules(table: Table) -> list[Raw]:
    """The RBAC rules of a table, with sorted verbs."""
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": sorted(verbs)}
        for group, resource, verbs in table
    ]
