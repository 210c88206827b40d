"""Which job an object belongs to: one rule for the store, the applier and the decisions.

Anyone who can create an object can write its owner references, and the API server does not check
them. So a UID alone proves nothing: it may belong to a job in another namespace, and only users of
that namespace may add children to it. An object is a job's child if it is in the job's namespace
and its controller reference names the job in full, as the operator writes it.
"""

from typing import NamedTuple

from api.constants import API_VERSION, KIND, LABEL_JOB_NAME, LABEL_JOB_UID
from api.objects import Raw, controller_of, labels_of, namespace_of


class Key(NamedTuple):
    """A job's namespace and name; also those of any other namespaced object."""

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
    """The UID of the former job of this name whose child the object was; empty without one.

    A restore brings back labels, but no owner: the job that owned the object is gone.
    """
    labels = labels_of(obj)
    if controller_of(obj) is not None or labels.get(LABEL_JOB_NAME) != owner.key.name:
        return ""
    uid = labels.get(LABEL_JOB_UID, "")
    return "" if uid == owner.uid else uid


def owner_of(obj: Raw) -> Owner | None:
    """The job that an object belongs to, or None if it has no owner or one of another kind."""
    reference = controller_of(obj) or {}
    if (reference.get("apiVersion"), reference.get("kind")) != (API_VERSION, KIND):
        return None
    return Owner(Key(namespace_of(obj), str(reference.get("name"))), str(reference.get("uid")))
