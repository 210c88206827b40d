"""Checks the arguments of the client, builds the job of `Client.train`, and packs its code."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from api.constants import Role
from api.objects import Raw
from paddlejob.errors import NotSendable
from paddlejob.functions import MAIN, pack_function, pack_reference
from pdj.code.bundle import Bundle
from pdj.code.parcel import Parcel
from pdj.documents.job import build_job, name_from
from pdj.documents.pods import NO_QUANTITY, is_quantity

LAUNCH = ("python", "-m", "paddle.distributed.launch")
Program = Callable[..., Any] | str
Files = Mapping[str, bytes]
KINDS: dict[Any, str] = {
    str: "text",
    Path: "a path",
    bool: "True or False",
    int: "a whole number from 0 on",
    float: "a number from 0 on",
    Callable: "a function",
    Iterable: "a list of texts",
    Mapping: "a mapping with texts as keys",
}
"""The types of arguments, in words for an error."""


def check(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name. Raises NotSendable for one that does not fit its type hint."""
    hinted = get_type_hints(function)
    for name, hint in hinted.items():
        hints = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        kinds = tuple(get_origin(each) or each for each in hints)
        if name in given and not _fits(given[name], kinds):
            wanted = " or ".join(words for kind, words in KINDS.items() if kind in kinds)
            raise NotSendable(f"{name}: {given[name]!r} is not {wanted}")
    return {name: given[name] for name in hinted if name in given}


def _fits(value: Any, kinds: tuple[Any, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int | float):
        return bool({float, type(value)} & {*kinds}) and value >= 0
    parts = value if isinstance(value, list | tuple | set | Mapping) else ()
    return isinstance(value, kinds) and all(isinstance(each, str) for each in parts)


def build_training(given: Mapping[str, Any]) -> Raw:
    """Build the job from the arguments of `Client.train`.

    Raises NotSendable for values that no job can have, and Problem if no name can be made.
    """
    if not given["image"]:
        raise NotSendable("image: '' is not an image")
    env = given["env"] or {}
    for name, value in env.items():
        if "=" in name or value is None:
            raise NotSendable(f"env: {name!r} with {value!r} is not a variable")
    limits = {name: str(value) for name, value in (given["resources"] or {}).items()}
    for name, value in limits.items():
        if not is_quantity(value):
            raise NotSendable(f"resources: {name}: {value!r} {NO_QUANTITY}")
    program, is_launched = given["function"], given["launcher"] and not given["ps"]
    called = program.partition(":")[2] if isinstance(program, str) else program
    job = build_job(
        given["image"],
        given["name"] or (called and name_from(getattr(called, "__name__", str(called)))),
        {Role.PS: given["ps"], Role.WORKER: given["workers"]},
        [*LAUNCH[: None if is_launched else 1], MAIN] if program else (),
        [f"{name}={value}" for name, value in env.items()],
        {"limits": limits},
        backoffLimit=given["backoff_limit"],
    )
    if given["queue"]:
        job["spec"]["schedulingPolicy"] = {"queue": given["queue"]}
    return job


def pack(given: Mapping[str, Any], files: Files | None = None) -> Bundle | None:
    """Pack the code and requirements of these arguments, and `files`; see `Parcel.pack`."""
    code, wanted, include = (given[name] for name in ("code", "requirements", "include"))
    if wanted is not None:
        wanted = Path(wanted) if isinstance(wanted, str | Path) else [*wanted]
    folder = None if code is None else Path(code)
    patterns = [include] if isinstance(include, str) else [*include]
    return Parcel(folder, wanted, given["index_url"], patterns, files).pack()


def files_of(
    program: Program | None, code: str | Path | None, args: Mapping[str, Any]
) -> Files | None:
    """The files that call the function, by name; None without a function. Raises NotSendable."""
    if program is None:
        if args:
            raise NotSendable("args= needs a function")
        return None
    if not isinstance(program, str):
        return pack_function(program, args)
    if code is None:
        raise NotSendable(f"{program}: code= must be the folder that contains the module")
    return pack_reference(program, Path(code), args)
