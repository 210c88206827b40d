"""Finds out from a launcher's first lines whether it trains alone, knowing only its own node.

The launcher logs its configuration (`paddle/distributed/launch/context` of 2.6 and 3.3), `ips`
before `nnodes`. If `ips` names several nodes, `nnodes` stays 1, so we read both.
"""

import re
from collections.abc import Iterable

from api.constants import Role
from api.job import PaddleJob

_SETTING = re.compile(r"LAUNCH INFO [-\d]+ [\d:,]+ (ips|nnodes): (\S+)\s*$")


def trains_alone(lines: Iterable[str]) -> bool:
    """Whether the last launcher in these lines trains alone; False if the lines are not enough."""
    matches = (match for line in lines if (match := _SETTING.match(line)))
    settings = {match[1]: match[2] for match in matches}
    return settings.get("nnodes") == "1" and "," not in settings.get("ips", ",")


def describe_alone(job: PaddleJob) -> str:
    """A sentence for users: each worker of the job trained alone."""
    count = job.spec.roles[Role.WORKER].replicas
    return (
        f"worker 0's launcher knew of 1 node, but the job has {count}: each worker trained alone; "
        "next: start the launcher without its own --nnodes, --master and --ips"
    )
