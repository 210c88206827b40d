"""Which job an object belongs to: one rule for the store, the applier and the decisions.

Anyone who can create an object can write its owner references, and the API server does not check
them. So a UID alone proves nothing: it may belong to a job in another namespace, and only users of
that namespace may add children to it. An object is a job's child if it is in the job's namespace
and its controller reference names the job in full, as the operator writes it.
"""

from typing import NamedTuple

from api.constants import API_VERSION, KIND
from api.objects import Raw, controller_of, namespace_of


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


def owner_of(obj: Raw) -> Owner | None:
    """The job that an object belongs to, or None if it has no owner or one of another kind."""
    reference = controller_of(obj)
    if reference is None:
        return None
    if (reference.get("apiVersion"), reference.get("kind")) != (API_VERSION, KIND):
        return None
    return Owner(Key(namespace_of(obj), str(reference.get("name"))), str(reference.get("uid")))
