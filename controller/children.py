"""Writes one child: creates, patches or deletes it, and notes what the store has yet to show.

Always: a delete happens only to the UID that the plan saw; a create that finds its name taken is a
success only if the one there is this job's. Errors are returned, since the caller writes many at
once and has to see every result. Any thread may call.

A child whose job label somebody has removed still belongs to the job, but no watch shows it, and
the job would wait for it forever. So it is deleted, and a new one takes its place.
"""

from dataclasses import dataclass

from api.constants import KIND, LABEL_JOB_UID
from api.objects import (
    Raw,
    controller_of,
    is_controlled_by,
    is_deleting,
    labels_of,
    name_of,
    uid_of,
)
from controller.client import ApiClient
from controller.errors import AlreadyExists, ApiError, Conflict, NotFound, Transient
from controller.expectations import Expectations
from controller.refusals import Place
from controller.resources import Resource, resource_of
from controller.store import Key
from reconcile.plan import Create, Delete, Patch


@dataclass(frozen=True, slots=True)
class Owner:
    """The job whose children are written."""

    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one create."""

    place: Place
    error: ApiError | None = None


class ChildWriter:
    """Single writes on one client."""

    def __init__(self, client: ApiClient, expectations: Expectations) -> None:
        self._client = client
        self._expectations = expectations

    def create(self, owner: Owner, item: Create) -> Made:
        """Create a child; a success too if this job's child of that name already exists."""
        place = (item.kind, item.name)
        resource = resource_of(item.body)
        try:
            obj = self._client.create(resource.path(owner.key.namespace), item.body)
        except AlreadyExists as error:
            return Made(place, self._examine_namesake(owner, resource, item.name, error))
        except ApiError as error:
            return Made(place, error)
        self._expectations.expect_written(owner.key, resource, obj)
        return Made(place)

    def delete(self, owner: Owner, resource: Resource, item: Delete) -> ApiError | None:
        """Delete a child; a success too if it is already gone."""
        path = resource.path(owner.key.namespace, item.name)
        try:
            self._client.delete(path, item.uid, item.grace_seconds)
        except (NotFound, Conflict):
            return None  # gone, or another one already stands in its place
        except ApiError as error:
            return error
        self._expectations.expect_deleted(owner.key, resource, item.name, item.uid)
        return None

    def patch(self, owner: Owner, resource: Resource, item: Patch) -> ApiError | None:
        """Change a child, if it still is the one that the plan saw."""
        path = resource.path(owner.key.namespace, item.name)
        try:
            obj = self._client.merge_patch(path, _with_uid(item.body, item.uid))
        except ApiError as error:
            return error
        self._expectations.expect_written(owner.key, resource, obj)
        return None

    def confirm_gone(self, owner: Owner, resource: Resource, name: str) -> ApiError | None:
        """None when the API server itself, not the cache, has no living child of this name.

        Otherwise why not: a Transient where it lives, or what kept the server from answering.
        """
        try:
            there = self._client.get(resource.path(owner.key.namespace, name))
        except NotFound:
            return None
        except ApiError as error:
            return error
        if is_deleting(there) or not is_controlled_by(there, KIND, owner.uid):
            return None
        if LABEL_JOB_UID not in labels_of(there):
            return self._delete_unseen(owner, resource, there)
        return Transient(f"{resource.kind} {name} lives, though the cache does not show it")

    def _examine_namesake(
        self, owner: Owner, resource: Resource, name: str, taken: AlreadyExists
    ) -> ApiError | None:
        """Find out whose the taken name is: this job's (None), or somebody else's (the error)."""
        try:
            there = self._client.get(resource.path(owner.key.namespace, name))
        except NotFound:
            return Transient(f"{resource.kind} {name} is just going")
        except ApiError as error:
            return error
        if is_controlled_by(there, KIND, owner.uid):
            if LABEL_JOB_UID not in labels_of(there):
                return self._delete_unseen(owner, resource, there)
            self._expectations.expect_written(owner.key, resource, there)
            return None
        holder = controller_of(there) or {}
        if holder.get("kind") == KIND and holder.get("name") == owner.key.name:
            # Left by a deleted job of the same name; its deletion wakes this one.
            return Transient(f"{resource.kind} {name} of a former job is still there")
        return taken

    def _delete_unseen(self, owner: Owner, resource: Resource, there: Raw) -> ApiError:
        """Delete a child without the job's label; the error that has the pass come again."""
        name = name_of(there)
        failed = self.delete(owner, resource, Delete(resource.kind, name, uid_of(there)))
        return failed or Transient(f"{resource.kind} {name} lost its label {LABEL_JOB_UID}")


def _with_uid(body: Raw, uid: str) -> Raw:
    """A merge patch that the API server refuses on an object of another UID."""
    return {**body, "metadata": {**(body.get("metadata") or {}), "uid": uid}}
