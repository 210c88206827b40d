"""Reads the API server's counts of requests, such as "PATCH paddlejobs/status.GROUP".

The server does not count by user, so every write that nothing else makes counts as the operator's.
`OTHERS` lists the writes of the benchmark itself, the scheduler and the node simulator.
"""

import re
from collections import Counter
from fnmatch import fnmatchcase

_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
OTHERS = (
    "PATCH pods/status",  # the node simulator; the harness, when workers end
    "POST pods/binding",  # the scheduler
    "* events.events.k8s.io",  # the scheduler
    *("* nodes", "* nodes/*"),
    "* leases.coordination.k8s.io",
    "POST tokenreviews.authentication.k8s.io",
    "POST subjectaccessreviews.authorization.k8s.io",
)
Counts = Counter[str]
"""Totals by request. Subtract an earlier scrape to get the requests in between."""


def parse_counts(exposition: str) -> Counts:
    """The totals of a scrape of the API server's /metrics."""
    counts: Counts = Counter()
    for sample in _SAMPLE.finditer(exposition):
        labels = dict(_LABEL.findall(sample["labels"]))
        place = "/".join(filter(None, (labels["resource"], labels["subresource"])))
        request = f"{labels['verb']} {'.'.join(filter(None, (place, labels['group'])))}"
        counts[request] += int(float(sample["value"]))
    return counts


def operator_writes(counts: Counts, jobs: str) -> int:
    """The number of the operator's writes, without those to `jobs` (RESOURCE.GROUP): the benchmark
    itself creates the jobs.
    """
    return sum(
        count
        for request, count in counts.items()
        if request.split()[0] in WRITES
        and not any(fnmatchcase(request, other) for other in (*OTHERS, f"* {jobs}"))
    )
