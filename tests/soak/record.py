"""What has happened in a run: a line for each event, and the summary."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.machine import clock


@dataclass
class Record:
    """Events with their times. `file` has all of them, the terminal those that matter."""

    seed: int
    file: Path
    faults: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    """Faults that had nothing to hit, or met a cluster that took no request."""
    checks: int = 0
    rounds: int = 0
    recoveries: list[float] = field(default_factory=list)
    """Seconds from the end of each round's last fault until everything was as it had to be."""
    violations: list[str] = field(default_factory=list)
    _began: float = field(default_factory=clock.monotonic)

    @property
    def seconds(self) -> float:
        return clock.monotonic() - self._began

    def note(self, text: str) -> None:
        with self.file.open("a") as file:
            file.write(f"{self.seconds:8.1f} {text}\n")

    def tell(self, text: str) -> None:
        """An event for those who look on."""
        self.note(text)
        print(f"[{self.seconds // 60:3.0f}:{self.seconds % 60:02.0f}] {text}", flush=True)

    def violate(self, wrong: list[str]) -> None:
        """What should never have been."""
        self.checks += 1
        for each in wrong:
            self.violations.append(each)
            self.tell(f"VIOLATION {each}")


def count_lines(title: str, counts: Counter[str]) -> list[str]:
    """A title with the total, and a line for each."""
    total = f"{title}: {sum(counts.values())}"
    return [total, *(f"  {count:6d}  {name}" for name, count in sorted(counts.items()))]
