"""`python -m controller.selftest`, for `helm test`: can an operator with these flags work?

It takes the operator's flags, runs with its service account, and changes nothing. The exit code is
1 if a check fails: the CRD is not served, jobs cannot be read or, with --leader-elect, nobody
renews the lease.
"""

import sys
import threading
from collections.abc import Iterator

from controller.client.api import CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, USER_AGENT
from controller.client.connection import ConfigurationError, load_connection
from controller.client.resources import LEASE, PADDLE_JOB
from controller.options import Options, parse_options
from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError
from kube.http import Timeouts

LEASE_WAIT_SECONDS = 60.0
"""How long to wait for a renewal; a leader that has died is replaced in less time."""
POLL_SECONDS = 1.0


class Failed(Exception):
    """A check that failed; the text says why."""


def main() -> int:
    """Print a line for each check, until one fails; returns the exit code."""
    options, clock = parse_options(sys.argv[1:]), Clock()
    timeouts = Timeouts(CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS)
    try:
        connection = load_connection(options.kubeconfig or None, clock)
        client = Client(connection, 1, USER_AGENT, timeouts)
        for line in checks(client, options, clock):
            sys.stdout.write(f"{line}\n")
    except (ConfigurationError, Failed, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def checks(client: Client, options: Options, clock: Clock) -> Iterator[str]:
    """Run the checks; yields a line for each that passes. Raises Failed if one fails."""
    for namespace in options.namespaces or ("",):
        where = namespace or "all namespaces"
        try:
            client.get(PADDLE_JOB.path(namespace), {"limit": 1})
        except ApiError as error:
            raise Failed(f"the PaddleJobs of {where} cannot be read: {error.message}") from error
        yield f"the PaddleJobs of {where} can be read"
    if options.leader_elect:
        yield f"{_leader(client, options, clock)} leads"


def _leader(client: Client, options: Options, clock: Clock) -> str:
    """The identity of the process that renews the lease. Raises Failed."""
    name = f"{options.leader_election_namespace}/{options.lease_name}"
    path = LEASE.path(options.leader_election_namespace, options.lease_name)
    deadline, before = clock.monotonic() + LEASE_WAIT_SECONDS, ("", "")
    while clock.monotonic() < deadline:
        try:
            spec = (client.find(path) or {}).get("spec") or {}
        except ApiError as error:
            raise Failed(f"the lease {name} cannot be read: {error.message}") from error
        now = (str(spec.get("holderIdentity") or ""), str(spec.get("renewTime")))
        if now[0] and now[0] == before[0] and now != before:
            return now[0]
        before = now
        clock.wait(threading.Event(), POLL_SECONDS)
    raise Failed(f"nobody has renewed the lease {name} for {LEASE_WAIT_SECONDS:g} s")


if __name__ == "__main__":
    sys.exit(main())
