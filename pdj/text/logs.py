"""The lines of a job's log, each after the name of its pod."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from api.objects import name_of
from pdj.facts.picture import JobPicture
from pdj.gather.merge import LogLine, Source
from pdj.text.terminal import PODS, log_line, pad, paint, plain


@dataclass
class LogPrinter:
    """Formats the lines of a job with the name of their pod, in a colour for each pod."""

    job: str
    has_colour: bool = False
    timestamps: bool = False
    no_prefix: bool = False
    all_containers: bool = False
    _widest: int = field(default=0, init=False)
    _prefixes: dict[Source, str] = field(default_factory=dict, init=False)

    def format(self, picture: JobPicture | None, lines: Iterable[LogLine]) -> list[str]:
        """The lines with their prefixes and without control characters. All names that were seen so
        far are aligned in one column.
        """
        names = [self._short(name_of(pod)) for pod in picture.pods] if picture else []
        widest = max(map(len, names), default=0)
        if widest > self._widest:
            self._widest = widest
            self._prefixes.clear()
        return [self._format(line) for line in lines]

    def _format(self, line: LogLine) -> str:
        text = log_line(line.text.decode(errors="replace"), self.has_colour)
        if not line.time:  # of a pod whose log is gone
            return text
        time = f"{line.time} " if self.timestamps else ""
        return f"{self._prefix(line.source)}{time}{text}"

    def _prefix(self, source: Source) -> str:
        if self.no_prefix:
            return ""
        if source not in self._prefixes:
            attempt = f"#{source.attempt}" if source.attempt > 1 else ""
            container = f"/{source.container}" if self.all_containers else ""
            colour = PODS[(source.index + len(source.role)) % len(PODS)]
            head = pad(f"{self._short(source.pod)}{attempt}{container}", self._widest)
            head = paint(head, colour) if self.has_colour else head
            self._prefixes[source] = f"{head} | "
        return self._prefixes[source]

    def _short(self, pod: str) -> str:
        return plain(pod.removeprefix(f"{self.job}-"))
