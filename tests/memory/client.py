"""The operator's client, as far as passes use it, over a world in memory."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol

from api.objects import Raw
from controller.client.resources import (
    CONFIG_MAP,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    WORKLOAD,
)
from kube.errors import NotFound

if TYPE_CHECKING:
    from tests.memory.world import World

RESOURCES = {r.kind: r for r in (PADDLE_JOB, POD, SERVICE, CONFIG_MAP, VOLCANO_POD_GROUP, WORKLOAD)}
FLAVORS = "resourceflavors"
_BY_PLURAL = {r.plural: r.kind for r in RESOURCES.values()}


class Client(Protocol):
    """What the operator's machine reads and writes with."""

    def get(self, path: str, query: Any = None) -> Raw: ...

    def create(self, path: str, body: Raw) -> Raw: ...

    def merge_patch(self, path: str, body: Raw) -> Raw: ...

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw: ...


class WorldClient:
    """Reads and writes a world in memory."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def get(self, path: str, query: object = None) -> Raw:
        plural, name = path.split("/")[-2:]
        if plural == FLAVORS:
            return deepcopy(self._world.unwatched_objects[("ResourceFlavor", name)])
        return deepcopy(self._world.get(*self._find(path)))

    def create(self, path: str, body: Raw) -> Raw:
        self._world.before_write("create")
        return self._world.create(body)

    def merge_patch(self, path: str, body: Raw) -> Raw:
        self._world.before_write("status" if path.endswith("/status") else "patch")
        kind, name = self._find(path)
        if kind == "PaddleJob":
            self._world.patch_status(name, body)
        else:
            self._world.patch(kind, name, body)
        return self._world.get(kind, name)

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw:
        self._world.before_write("delete")
        self._world.delete(*self._find(path), uid, grace_seconds)
        return {}

    def _find(self, path: str) -> tuple[str, str]:
        kind, name = place_of(path)
        if (kind, name) not in self._world.objects:
            raise NotFound(path)
        return kind, name


def place_of(path: str) -> tuple[str, str]:
    """Kind and name of an object's path; the subresource does not matter."""
    parts = path.removesuffix("/status").split("/")
    return _BY_PLURAL[parts[-2]], parts[-1]
