"""Builds the job of `Client.train`, and packs its folder, function and packages."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from api.objects import Raw
from paddlejob.errors import NotSendable
from paddlejob.functions import MAIN, pack_function, pack_reference
from pdj.code.bundle import Bundle
from pdj.code.parcel import Parcel
from pdj.commands.run import build_job, name_from
from pdj.documents.quantities import NO_QUANTITY, is_quantity

LAUNCH = ("python", "-m", "paddle.distributed.launch")
UNSAID = ("requests", "intranet", "clean_pod_policy")
Program = Callable[..., Any] | str
Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Wish:
    """The keyword arguments of `Client.train`; see there."""

    image: str
    name: str | None = None
    workers: int = 1
    ps: int = 0
    resources: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None
    backoff_limit: int | None = None
    launcher: bool = True

    def job(self, program: Program | None) -> Raw:
        """The PaddleJob that runs the program; without a program, it runs the image's own command.

        Raises NotSendable for values that no job can have, and Problem if no name can be made.
        """
        for role, count in (("ps", self.ps), ("worker", self.workers)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise NotSendable(f"{role}: {count!r} is not a number of pods")
        launch = LAUNCH if self.launcher and not self.ps else LAUNCH[:1]
        for name in self.env:
            if "=" in name:
                raise NotSendable(f"env: {name!r} is not a name for a variable")
        for name, value in self.resources.items():
            if not is_quantity(str(value)):
                raise NotSendable(f"resources: {name}: {str(value)!r} {NO_QUANTITY}")
        called = program.partition(":")[2] if isinstance(program, str) else program
        chosen = self.name or (
            name_from(getattr(called, "__name__", str(called))) if called else ""
        )
        given = {
            "name": chosen,
            "program": [*launch, MAIN] if program else [],
            "env": [f"{name}={value}" for name, value in self.env.items()],
            "limits": {name: str(value) for name, value in self.resources.items()},
        }
        options = {**asdict(self), **dict.fromkeys(UNSAID), **given}
        job = build_job(argparse.Namespace(**options))
        if self.queue:
            job["spec"]["schedulingPolicy"] = {"queue": self.queue}
        return job


def files_of(program: Program, code: str | Path | None, args: Mapping[str, Any]) -> Files:
    """The files that call the function. Raises NotSendable."""
    if not isinstance(program, str):
        return pack_function(program, args)
    if code is None:
        raise NotSendable(f"{program}: code= names the folder that it is in")
    return pack_reference(program, Path(code), args)


@dataclass(frozen=True, slots=True)
class Code:
    """The arguments of `Client.submit` and `Client.train` about what is sent with a job."""

    code: str | Path | None = None
    requirements: str | Path | Iterable[str] | None = None
    index_url: str = ""
    include: str | Iterable[str] = ()

    def pack(self, files: Files | None = None) -> Bundle | None:
        """Pack the code with these files; None if there is nothing to send.

        Raises Problem if something cannot be sent, or an argument would have no effect.
        """
        include = [self.include] if isinstance(self.include, str) else [*self.include]
        if self.code is None and include:
            raise NotSendable("include= needs code=")
        if self.requirements is None and self.index_url:
            raise NotSendable("index_url= needs requirements=")
        if self.code is None and files is None:
            if self.requirements is not None:
                raise NotSendable("requirements= needs code=")
            return None
        wanted = self.requirements
        if wanted is not None:
            wanted = Path(wanted) if isinstance(wanted, str | Path) else [*wanted]
        folder = None if self.code is None else Path(self.code)
        return Parcel(folder, wanted, self.index_url, include, files or {}).pack()
