"""The job of `Client.train`, and what goes with it: a folder, a function, packages."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api.constants import API_VERSION, KIND, TRAINER_CONTAINER, CleanPodPolicy, Role
from api.objects import Raw
from paddlejob.errors import NotSendable
from paddlejob.functions import MAIN, pack_function, pack_reference
from pdj.code.archive import pack
from pdj.code.bundle import Bundle
from pdj.code.folder import find_files
from pdj.commands.code import add_requirements
from pdj.commands.complaints import one_line
from pdj.commands.run import name_from
from pdj.errors import Problem, Usage

LAUNCH = ("python", "-m", "paddle.distributed.launch")
Program = Callable[..., Any] | str


@dataclass(frozen=True, slots=True)
class Wish:
    """What `Client.train` was asked for; see there."""

    image: str
    name: str | None = None
    workers: int = 1
    ps: int = 0
    resources: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None
    backoff_limit: int | None = None
    launcher: bool = True

    def job(self, program: Program) -> Raw:
        """The PaddleJob. Raises NotSendable where no name can be made of the function's."""
        spec: Raw = {"cleanPodPolicy": str(CleanPodPolicy.NEVER)}
        counts = {Role.PS: self.ps, Role.WORKER: self.workers}
        for role, count in counts.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise NotSendable(f"{role}: {count!r} is no number of pods")
            if count:
                spec[str(role)] = {"replicas": count, "template": self._template()}
        if self.queue:
            spec["schedulingPolicy"] = {"queue": self.queue}
        if self.backoff_limit is not None:
            spec["backoffLimit"] = self.backoff_limit
        metadata = {"name": self.name or _name_of(program)}
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}

    def _template(self) -> Raw:
        launch = LAUNCH if self.launcher and not self.ps else LAUNCH[:1]
        container: Raw = {"name": TRAINER_CONTAINER, "image": self.image}
        container["command"] = [*launch, MAIN]
        if self.env:
            container["env"] = [{"name": k, "value": str(v)} for k, v in self.env.items()]
        if self.resources:
            container["resources"] = {"limits": {k: str(v) for k, v in self.resources.items()}}
        return {"spec": {"containers": [container]}}


def _name_of(program: Program) -> str:
    called = program.partition(":")[2] if isinstance(program, str) else program.__name__
    try:
        return name_from(called)
    except Usage:
        raise NotSendable(f"no name of a job can be made of {called!r}: pass name=") from None


def pack_program(
    program: Program,
    args: Mapping[str, Any],
    code: str | Path | None,
    requirements: str | Path | Iterable[str] | None,
    index_url: str = "",
) -> Bundle:
    """The code of `Client.train`: the folder, if any, with the files that call the function."""
    if isinstance(program, str) and code is None:
        raise NotSendable(f"{program}: code= names the folder that it is in")
    if isinstance(program, str):
        files = pack_reference(program, Path(str(code)), args)
    else:
        files = pack_function(program, args)
    return pack_code(code, requirements, index_url, files)


def pack_code(
    code: str | Path | None,
    requirements: str | Path | Iterable[str] | None,
    index_url: str = "",
    files: Mapping[str, bytes] | None = None,
) -> Bundle:
    """A folder with more files, and packages: a file for pip, or lines of one.

    Raises NotSendable.
    """
    try:
        return _pack(code, requirements, index_url, files)
    except Problem as error:
        raise NotSendable(one_line(str(error))) from None


def _pack(
    code: str | Path | None,
    requirements: str | Path | Iterable[str] | None,
    index_url: str,
    files: Mapping[str, bytes] | None,
) -> Bundle:
    folder = None if code is None else Path(code)
    names = find_files(folder, lambda _text: None) if folder else []
    archive = pack(folder or Path(), names, [], files)
    if requirements is None or isinstance(requirements, str | Path):
        file = Path(requirements) if requirements else None
        return add_requirements(archive, file, index_url, folder)
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, "requirements.txt")
        file.write_text("".join(f"{each}\n" for each in requirements), encoding="utf-8")
        return add_requirements(archive, file, index_url, None)
