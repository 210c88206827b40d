"""Functions that cannot be sent, one of each kind; `LINE` comments mark what a refusal names."""
# ruff: noqa: E731

import functools
import math
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

RATE = 0.1


class Trainer:
    """A class, with a method and an object that can be called."""

    def fit(self) -> None:  # LINE bound method, method
        """Train."""

    def __call__(self) -> None:  # LINE object
        """Train too."""


def outer(rate: float) -> Callable[[], float]:
    """A closure."""

    def closure() -> float:  # LINE closure
        return rate

    return closure


def around() -> Callable[[], int]:
    """A function inside of another."""

    def nested() -> int:  # LINE nested
        return 1

    return nested


def generator() -> Iterator[int]:  # LINE generator
    """A generator."""
    yield 1


async def asynchronous() -> None:  # LINE async
    """A coroutine."""


async def async_generator() -> AsyncIterator[int]:  # LINE async generator
    """An asynchronous generator."""
    yield 1


def uses_constant(
    steps: int = 3,
) -> float:
    """A name of its module."""
    total = 0.0
    for _ in range(steps):
        total += RATE  # LINE global
    return total


def uses_module() -> float:
    """An import of its module."""
    return math.sqrt(2)  # LINE module


def uses_default(rate: float = RATE) -> float:  # LINE default
    """A name of its module in a default."""
    return rate


def uses_inside() -> Any:
    """A name of its module, in a function of its own."""

    def step() -> list[float]:
        return [RATE for _ in range(3)]  # LINE inner global

    return step()


def imports_relative() -> Any:
    """A relative import."""
    from . import helper  # type: ignore[attr-defined] # LINE relative

    return helper


def replaced(function: Callable[[], int]) -> Callable[[], int]:
    """A decorator that does not say what it wraps."""

    def wrapper() -> int:  # LINE decorated
        return function()

    return wrapper


@replaced
def decorated() -> int:
    """Hidden by its decorator."""
    return 1


anonymous = lambda: 1  # LINE lambda
bound = functools.partial(uses_module)  # it names the line of uses_module

KINDS: dict[str, tuple[Any, str]] = {
    "bound method": (Trainer().fit, "fit"),
    "method": (Trainer.fit, "fit"),
    "object": (Trainer(), "Trainer"),
    "closure": (outer(1.0), "closure"),
    "nested": (around(), "nested"),
    "generator": (generator, "generator"),
    "async": (asynchronous, "asynchronous"),
    "async generator": (async_generator, "async_generator"),
    "global": (uses_constant, "RATE"),
    "module": (uses_module, "math"),
    "default": (uses_default, "RATE"),
    "inner global": (uses_inside, "RATE"),
    "relative": (imports_relative, "relative"),
    "decorated": (decorated, "wrapper"),
    "lambda": (anonymous, "lambda"),
}
"""By kind: the function, and a word of its refusal."""
WITHOUT_LINE: dict[str, tuple[Any, str]] = {
    "built in": (print, "print: is built in"),
    "class": (Trainer, "Trainer, line 12: is a class"),
    "partial": (bound, "is a partial"),
    "decorated built in": (functools.lru_cache(len), "len: is built in"),
    "text": (7, "int: is an object"),
}
