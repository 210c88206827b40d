"""The ConfigMap of a job's code in the cluster: created before the job, then owned by the job.

If the command is killed in between, the ConfigMap perhaps has no owner. Then `delete --orphans`
makes the job that uses the ConfigMap its owner. If no job uses the ConfigMap, it is deleted.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from api.constants import API_VERSION, KIND, LABEL_CODE_OF, Role
from api.objects import Raw, is_deleting, labels_of, name_of, namespace_of, uid_of
from kube.client import STRICT, Client
from kube.errors import AlreadyExists, ApiError, NotFound
from pdj.code.bundle import CODE, digest_of
from pdj.code.folder import Say
from pdj.errors import Problem
from pdj.gather.paths import config_map_path, jobs_path, path_of_config_map


@contextmanager
def sent(client: Client, config_map: Raw, say: Say, is_trial: bool = False) -> Iterator[None]:
    """Create the ConfigMap, run the block, which creates the job, and make the job its owner. If
    no job uses the ConfigMap after the block, delete it. With `is_trial`, the API server only
    checks the ConfigMap.
    """
    if is_trial:
        with suppress(AlreadyExists):
            path = config_map_path(namespace_of(config_map))
            client.create(path, config_map, {**STRICT, "dryRun": "All"})
        yield
        return
    job = client.find(_job_path(config_map))
    made = _provide(client, config_map, uid_of(job) if job else "")
    try:
        yield
    finally:
        settle(client, made, say)


@contextmanager
def held(client: Client, job: Raw, say: Say) -> Iterator[None]:
    """Keep a job's code while the block deletes the job and creates it again."""
    maps = codes_of(client, job)
    for each in maps:
        _set_owner(client, each, None)
    try:
        yield
    finally:
        for each in maps:
            settle(client, each, say, keep=True)


def settle(client: Client, config_map: Raw, say: Say, keep: bool = False) -> bool:
    """Make the job that uses the ConfigMap its owner; if no job uses it, delete it, unless `keep`.

    Returns whether it was deleted. A failure is reported and not raised: the job exists anyway.
    """
    try:
        job = client.find(_job_path(config_map))
        if job is not None and name_of(config_map) in config_map_names(job):
            _set_owner(client, config_map, job)
        elif not keep:
            client.delete(path_of_config_map(config_map), uid_of(config_map))
            return True
    except NotFound:
        return False
    except ApiError as error:
        say(
            f"the ConfigMap {name_of(config_map)} has no owner ({error.message}): kubectl pdj "
            "delete --orphans gives it one, or deletes it"
        )
    return False


def find_orphans(client: Client, namespace: str) -> list[Raw]:
    """ConfigMaps of code without an owner."""
    found, _ = client.list(config_map_path(namespace), {"labelSelector": LABEL_CODE_OF})
    return [each for each in found if not each["metadata"].get("ownerReferences")]


def codes_of(client: Client, job: Raw) -> list[Raw]:
    """The ConfigMaps of the job's code that exist, by name."""
    paths = [config_map_path(namespace_of(job), name) for name in sorted(config_map_names(job))]
    return [found for path in paths if (found := client.find(path)) and is_code_of(found, job)]


def code_of(client: Client, job: Raw) -> Raw:
    """The ConfigMap of the job's code. Raises Problem if there is none."""
    for name in sorted(config_map_names(job)):
        found = client.find(config_map_path(namespace_of(job), name))
        if found is None:
            raise Problem(f"the ConfigMap {name}, the code of the job {name_of(job)}, is gone")
        if not is_code_of(found, job):
            raise Problem(f"the ConfigMap {name} is not the code of the job {name_of(job)}")
        return found
    raise Problem(f"the job {name_of(job)} was sent without code")


def config_map_names(job: Raw) -> set[str]:
    """Names of the ConfigMaps whose code the job's pods unpack."""
    spec = job.get("spec") or {}
    pods = [((spec.get(str(role)) or {}).get("template") or {}).get("spec") for role in Role]
    volumes = [each for pod in pods for each in (pod or {}).get("volumes") or ()]
    names = [
        (volume.get("configMap") or {}).get("name")
        for volume in volumes
        if volume.get("name") == CODE
    ]
    return {str(name) for name in names if name}


def is_code_of(config_map: Raw, job: Raw) -> bool:
    """Whether a ConfigMap's label names the job. The job's volume alone can name any ConfigMap."""
    return labels_of(config_map).get(LABEL_CODE_OF) == name_of(job)


def _provide(client: Client, config_map: Raw, job_uid: str) -> Raw:
    """Create the ConfigMap, or reuse an equal one. One with another owner is replaced, because it
    would be deleted with that owner. Raises Problem if the name has other content, or is not code.
    """
    path = config_map_path(namespace_of(config_map))
    try:
        return client.create(path, config_map, STRICT)
    except AlreadyExists as error:
        there = client.find(path_of_config_map(config_map))
        if there is None:
            return client.create(path, config_map, STRICT)
        is_same = there.get("immutable") and digest_of(there) == digest_of(config_map)
        if LABEL_CODE_OF not in labels_of(there) or not is_same:
            raise Problem(
                f"a ConfigMap {name_of(there)} exists already and belongs to something else"
            ) from error
    owners = {each["uid"] for each in there["metadata"].get("ownerReferences") or ()}
    if owners <= {job_uid} and not is_deleting(there):
        return there
    with suppress(NotFound):
        client.delete(path_of_config_map(there), uid_of(there))
    return client.create(path, config_map, STRICT)


def _set_owner(client: Client, config_map: Raw, job: Raw | None) -> None:
    """Make the job the owner, by a reference without `controller`, so that the operator does not
    count the ConfigMap as a child. One that somebody has deleted meanwhile is created again.
    """
    owners: list[Raw] = []
    if job is not None:
        named = {"apiVersion": API_VERSION, "kind": KIND, "name": name_of(job), "uid": uid_of(job)}
        owners = [named]
    if (config_map["metadata"].get("ownerReferences") or []) == owners == []:
        return
    path = path_of_config_map(config_map)
    patch = {"metadata": {"uid": uid_of(config_map), "ownerReferences": owners}}
    try:
        client.merge_patch(path, patch)
    except NotFound:
        dropped = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
        metadata = {k: v for k, v in config_map["metadata"].items() if k not in dropped}
        again = {**config_map, "metadata": {**metadata, "ownerReferences": owners}}
        again |= {"apiVersion": "v1", "kind": "ConfigMap"}
        with suppress(AlreadyExists):
            client.create(config_map_path(namespace_of(config_map)), again)


def _job_path(config_map: Raw) -> str:
    return jobs_path(namespace_of(config_map), labels_of(config_map)[LABEL_CODE_OF])
