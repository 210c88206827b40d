"""Which job an object belongs to: one rule for the store, the applier and the decisions.

Anyone who can create an object can write its owner references, and the API server does not check
that the owner exists or agrees. So a UID alone proves nothing: with the UID of a job in another
namespace, a user could give that job children. An object is a job's child only if it is in the
job's namespace and its controller reference has the job's API version, kind, name and UID.
"""

from typing import NamedTuple

from api.constants import API_VERSION, KIND, LABEL_JOB_NAME, LABEL_JOB_UID
from api.objects import Raw, controller_of, labels_of, namespace_of


class Key(NamedTuple):
    """The namespace and name of a job, or of any other namespaced object."""

    namespace: str
    name: str


class Owner(NamedTuple):
    """The job that children belong to, as opposed to a former job of the same name."""

    key: Key
    uid: str

    def controls(self, obj: Raw) -> bool:
        """Whether the object is this job's child."""
        return owner_of(obj) == self

    def has_inherited(self, obj: Raw) -> bool:
        """Whether the object is a child of a former job of the same name."""
        owner = owner_of(obj)
        return owner is not None and owner.key == self.key and owner.uid != self.uid


def former_uid(owner: Owner, obj: Raw) -> str:
    """The UID of a former job of the same name, if the object was that job's child; else empty.

    Only an object without a controller counts: a restore brings back the object's labels, but not
    its owner reference, because the job that owned the object no longer exists.
    """
    labels = labels_of(obj)
    if controller_of(obj) is not None or labels.get(LABEL_JOB_NAME) != owner.key.name:
        return ""
    uid = labels.get(LABEL_JOB_UID, "")
    return "" if uid == owner.uid else uid


def owner_of(obj: Raw) -> Owner | None:
    """The job that controls an object; None without a controller, or for one of another kind."""
    reference = controller_of(obj) or {}
    if (reference.get("apiVersion"), reference.get("kind")) != (API_VERSION, KIND):
        return None
    return Owner(Key(namespace_of(obj), str(reference.get("name"))), str(reference.get("uid")))
