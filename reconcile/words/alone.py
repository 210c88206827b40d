"""Finds out from a launcher's first lines whether it trains alone, knowing only its own node.

The launcher logs its configuration (`paddle/distributed/launch/context` of 2.6 and 3.3), `ips`
before `nnodes`. If `ips` names several nodes, `nnodes` stays 1, so we read both. An empty `nnodes`
is 1 to it.
"""

import re
from collections.abc import Iterable, Sequence

from api.constants import Role
from api.job import PaddleJob

_SETTING = re.compile(r"LAUNCH INFO [-\d]+ [\d:,]+ (ips|nnodes):[ ]?(\S*)\s*$")


def trains_alone(lines: Iterable[str]) -> bool:
    """Whether the last launcher in these lines trains alone; False if the lines are not enough."""
    matches = (match for line in lines if (match := _SETTING.match(line)))
    settings = {match[1]: match[2] for match in matches}
    return settings.get("nnodes") in ("", "1", "1:1") and "," not in settings.get("ips", ",")


def counts_one_node(endpoints: Sequence[str]) -> bool:
    """Whether the launcher takes several endpoints for those of one node.

    It counts what stands before the first colon (`collective_compatible` in its plugins): every
    IPv6 address of a network is the same node to it.
    """
    return len(endpoints) > 1 and len({each.partition(":")[0] for each in endpoints}) == 1


IPV6 = (
    "the pods' addresses are IPv6, which PaddlePaddle's launchers take for those of one node: each "
    "worker trains alone; next: intranet: Service, if the pods have IPv4 addresses, too"
)


def describe_alone(job: PaddleJob) -> str:
    """A sentence for users: each worker of the job trained alone."""
    count = job.spec.roles[Role.WORKER].replicas
    return (
        f"worker 0's launcher knew of 1 node, but the job has {count}: each worker trained alone; "
        "next: start the launcher without its own --nnodes, --master and --ips"
    )
