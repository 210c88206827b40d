"""Creates, patches or deletes one child, and notes the write until the store shows it. Thread-safe.

A delete applies only to the UID that the plan saw. A create whose name is taken succeeds only if
the existing object is this job's. ApiErrors are returned, not raised, because the caller writes
many children at once and needs every result.

If somebody removes a child's job label, the child still belongs to the job, but no watch shows it,
and the job would wait for it forever. So the child is deleted, and a later pass creates it again.
"""

from dataclasses import dataclass

from api.constants import GROUP, LABEL_JOB_UID
from api.objects import Raw, is_deleting, labels_of, name_of
from api.ownership import Owner, former_uid
from controller.client.api import ApiClient
from controller.client.errors import FormerJob, Ownerless
from controller.client.resources import Resource, find_resource
from controller.work.malformed import is_malformed
from controller.work.memory import JobMemory
from kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    Transient,
)
from reconcile.model.plan import ALTERED, Create, Delete, ObjectReference, Patch


@dataclass(frozen=True, slots=True)
class ChildWriter:
    """Creates, patches and deletes children, one per call, through one client."""

    client: ApiClient
    memory: JobMemory

    def create(self, owner: Owner, item: Create) -> ApiError | None:
        """Create a child; also succeeds if this job's child of that name already exists.

        If admission changed the child so that the operator could not find it, deletes it again.
        """
        body = item.build()
        resource = find_resource(body["apiVersion"], item.kind)
        try:
            obj = self.client.create(resource.path(owner.key.namespace), body)
        except AlreadyExists as error:
            return self._examine_namesake(owner, resource, item.name, error)
        except Invalid as error:
            error.is_final = is_malformed(error, body)
            return error
        except ApiError as error:
            return error
        self.memory.await_written(owner.key, resource, obj)
        altered = _find_alteration(owner, body, obj)
        if not altered:
            return None
        # The next pass would not find the child, or would take it for another job's child.
        self.delete(owner, Delete(ObjectReference.of({**body, "metadata": obj["metadata"]})))
        return Invalid(f"admission changed {altered}", reason=ALTERED)

    def delete(self, owner: Owner, item: Delete) -> ApiError | None:
        """Delete a child; also succeeds if it is already gone."""
        target = item.target
        resource, path = _locate(owner, target)
        try:
            self.client.delete(path, target.uid, item.grace_seconds)
        except (NotFound, Conflict):
            pass  # gone, or another object has its name now: soon the store shows it
        except ApiError as error:
            return error
        self.memory.await_deleted(owner.key, resource, target.name, target.uid)
        return None

    def patch(self, owner: Owner, item: Patch) -> ApiError | None:
        """Change a child if it is still the one that the plan saw; also succeeds if it is gone."""
        resource, path = _locate(owner, item.target, item.subresource)
        # The API server refuses the patch on an object of another UID.
        metadata = {**(item.body.get("metadata") or {}), "uid": item.target.uid}
        try:
            obj = self.client.merge_patch(path, {**item.body, "metadata": metadata})
        except NotFound:
            return None
        except ApiError as error:
            return error
        self.memory.await_written(owner.key, resource, obj)
        return None

    def confirm_gone(self, owner: Owner, resource: Resource, name: str) -> ApiError | None:
        """None if the API server has no such child or it is being deleted; else an error.

        A child that no watch shows, because it lost its job label, is deleted.
        """
        try:
            there = self.client.get(resource.path(owner.key.namespace, name))
        except NotFound:
            return None
        except ApiError as error:
            return error
        if is_deleting(there) or not owner.controls(there):
            return None
        if LABEL_JOB_UID not in labels_of(there):
            return self._delete_unseen(owner, there)
        return Transient(f"{resource.kind} {name} exists, although the cache does not show it")

    def _examine_namesake(
        self, owner: Owner, resource: Resource, name: str, taken: AlreadyExists
    ) -> ApiError | None:
        """Find out which object has the name: None if it is this job's child, else the error.

        A child without the job's label, which no watch shows, is deleted, and an error returned.
        """
        try:
            there = self.client.get(resource.path(owner.key.namespace, name))
        except NotFound:
            return FormerJob(f"{resource.kind} {name} is being deleted")
        except ApiError as error:
            return error
        if owner.controls(there):
            if LABEL_JOB_UID not in labels_of(there):
                return self._delete_unseen(owner, there)
            self.memory.await_written(owner.key, resource, there)
            return None
        if owner.has_inherited(there):
            # A deleted job of the same name left this child; the child's deletion wakes this job.
            return FormerJob(f"{resource.kind} {name} of a former job is still there")
        former = former_uid(owner, there)
        return Ownerless(former, code=taken.code) if former else taken

    def _delete_unseen(self, owner: Owner, there: Raw) -> ApiError:
        """Delete a child without the job's label; always returns an error, to retry the pass."""
        target = ObjectReference.of(there)
        failed = self.delete(owner, Delete(target))
        return failed or Transient(f"{target.kind} {target.name} lost its label {LABEL_JOB_UID}")


def _find_alteration(owner: Owner, sent: Raw, made: Raw) -> str:
    """The change by admission that hides the child from the operator; empty if there is none."""
    if name_of(sent) != name_of(made):
        return f"its name to {name_of(made)}"
    if owner.controls(sent) and not owner.controls(made):
        return "its owner"
    labels = labels_of(made)
    for name, value in labels_of(sent).items():
        if name.startswith(GROUP) and labels.get(name) != value:
            return f"its label {name} to {labels.get(name)!r}"
    return ""


def _locate(owner: Owner, target: ObjectReference, part: str = "") -> tuple[Resource, str]:
    resource = find_resource(target.api_version, target.kind)
    return resource, resource.path(owner.key.namespace, target.name, part)
