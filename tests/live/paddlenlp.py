"""The environment with PaddleNLP, for the test of its Trainer: `python -m tests.live.paddlenlp`.

It lies on top of the examples' and is kept like theirs. `make prepare` leaves it out: its hundred
packages need a gigabyte, and minutes to install.
"""

import sys

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.project import PROJECT
from localcluster.provision.environments import ensure_packages, has_packages
from localcluster.provision.training import WITH_SERVERS, training

LOCK = PROJECT / "requirements" / "paddlenlp.txt"
WHY_NOT = "PaddleNLP is not installed: python -m tests.live.paddlenlp"


def is_installed() -> bool:
    """Whether there is one for this machine's PaddlePaddle."""
    try:
        return has_packages("examples", LOCK)
    except LocalClusterError:  # no PaddlePaddle for this Python
        return False


def main() -> str | None:
    """Install it; what went wrong."""
    try:
        if training().paddle != WITH_SERVERS:
            return f"error: PaddleNLP needs PaddlePaddle {WITH_SERVERS.version}"
        ensure_packages("examples", LOCK)
    except LocalClusterError as error:
        return f"error: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
