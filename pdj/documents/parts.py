"""One role of a job, for the advice rules: its template, and how its trainer is started."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from api.constants import Role
from api.objects import Raw
from api.trainer import ACCELERATORS, count_accelerators, trainer_of
from pdj.documents.reader import Place

_WORD = re.compile(r"[^\s;&|()]+|[;&|]|\n")


@dataclass(frozen=True)
class Part:
    """One role. `pod` is the pod spec in its template, at `place`; `spec` is the job's spec."""

    role: str
    place: Place
    pod: Raw
    spec: Raw
    accelerators: tuple[str, ...] = ACCELERATORS

    @property
    def containers(self) -> list[Raw]:
        """All containers except init containers."""
        return list(self.pod.get("containers") or ())

    @cached_property
    def trainer(self) -> Raw:
        """The container that trains."""
        return trainer_of(self.pod)

    @property
    def trainer_place(self) -> Place:
        """The path of the trainer container."""
        return (*self.place, "containers", self.containers.index(self.trainer))

    @property
    def program_place(self) -> Place:
        """The path of the trainer's args, or of its command if it has no args."""
        return (*self.trainer_place, "args" if self.trainer.get("args") else "command")

    @cached_property
    def devices(self) -> int:
        """The number of accelerators of one trainer."""
        return count_accelerators(self.trainer, self.accelerators)

    @cached_property
    def argv(self) -> list[str]:
        """The trainer's command with its arguments."""
        given = (*(self.trainer.get("command") or ()), *(self.trainer.get("args") or ()))
        return [str(each) for each in given]

    @cached_property
    def words(self) -> list[str]:
        """The words of the command, including those of a shell script."""
        found = [each for arg in self.argv for each in _WORD.findall(arg.replace("\\\n", " "))]
        return [each.strip("\"'") for each in found]

    @cached_property
    def env(self) -> dict[str, str | None]:
        """The variables in the trainer's `env`; None for one whose value is not in the template."""
        return {each["name"]: each.get("value") for each in self.trainer.get("env") or ()}

    @property
    def replicas(self) -> int:
        """How many pods the role has."""
        return int(self.spec[self.role].get("replicas") or 0)

    @property
    def is_collective(self) -> bool:
        """Whether this is the worker role, with two or more pods, in a job without ps and heter."""
        has_others = self.spec.get(Role.PS) or self.spec.get(Role.HETER)
        return self.role == Role.WORKER and not has_others and self.replicas > 1


Found = Iterator[tuple[Place, str]]
Rule = Callable[[Part], Found]
