"""What the API server has counted: requests by verb, group, resource and subresource.

The server does not count by user, so the operator's writes are those that nobody else in the
benchmark makes: `OTHERS` lists what the harness, the scheduler and the node simulator write.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
ANY = "*"


@dataclass(frozen=True, order=True)
class Request:
    """A kind of request."""

    verb: str
    group: str
    resource: str
    subresource: str

    def __str__(self) -> str:
        place = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {place}.{self.group}" if self.group else f"{self.verb} {place}"

    def matches(self, pattern: "Request") -> bool:
        """Whether every field is the pattern's, or the pattern's is ANY."""
        mine = (self.verb, self.group, self.resource, self.subresource)
        theirs = (pattern.verb, pattern.group, pattern.resource, pattern.subresource)
        return all(their in (ANY, my) for my, their in zip(mine, theirs, strict=True))


OTHERS = (
    Request("PATCH", "", "pods", "status"),  # the node simulator; the harness, when workers end
    Request("POST", "", "pods", "binding"),  # the scheduler
    Request(ANY, "events.k8s.io", "events", ""),  # the scheduler
    Request(ANY, "", "nodes", ANY),
    Request(ANY, "coordination.k8s.io", "leases", ""),
    Request("POST", "authentication.k8s.io", "tokenreviews", ""),
    Request("POST", "authorization.k8s.io", "subjectaccessreviews", ""),
)
Counts = Counter[Request]


def parse_counts(exposition: str) -> Counts:
    """The totals of a scrape of the API server's /metrics."""
    counts: Counts = Counter()
    for line in exposition.splitlines():
        sample = _SAMPLE.match(line)
        if sample:
            labels = dict(_LABEL.findall(sample["labels"]))
            fields = (labels.get(name, "") for name in ("verb", "group", "resource", "subresource"))
            counts[Request(*fields)] += int(float(sample["value"]))
    return counts


def since(before: Counts, after: Counts) -> Counts:
    """What was counted between two scrapes."""
    return Counter(
        {key: value - before[key] for key, value in after.items() if value > before[key]}
    )


def operator_writes(counts: Counts, job_resources: Iterable[str]) -> Counts:
    """The writes of the operator alone; jobs themselves come and go by the harness."""
    others = [*OTHERS, *(Request(ANY, ANY, resource, "") for resource in job_resources)]
    return Counter(
        {
            request: count
            for request, count in counts.items()
            if request.verb in WRITES and not any(request.matches(other) for other in others)
        }
    )
