"""Whether PaddlePaddle's launcher knew of no node but its own, by what it prints as it starts.

Its configuration (`paddle/distributed/launch/context` of 2.6 and 3.3) has `ips` before `nnodes`,
which stays 1 where the nodes are named by ips.
"""

import re
from collections.abc import Iterable

from api.constants import Role
from api.job import PaddleJob

_SETTING = re.compile(r"LAUNCH INFO [-\d]+ [\d:,]+ (ips|nnodes): (\S+)\s*$")


def trains_alone(lines: Iterable[str]) -> bool:
    """Whether the last launcher of these lines says so; False where it does not say enough."""
    matches = (match for line in lines if (match := _SETTING.match(line)))
    settings = {match[1]: match[2] for match in matches}
    return settings.get("nnodes") == "1" and "," not in settings.get("ips", ",")


def describe_alone(job: PaddleJob) -> str:
    """The sentence about it."""
    count = job.spec.roles[Role.WORKER].replicas
    return (
        f"worker 0's launcher knew of 1 node, and the job has {count}: each worker trained alone; "
        "next: start the launcher without --nnodes, --master and --ips of its own"
    )
