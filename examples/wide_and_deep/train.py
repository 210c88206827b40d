"""Wide & Deep for click-through rate, with Fleet's parameter servers, asynchronously.

The same program is every server and every worker of a PaddleJob; which one it is, and where
its peers are, it learns from the operator's environment, which Fleet's PaddleCloudRoleMaker
reads, and from nothing else.
"""

from __future__ import annotations

import fleet_process
from paddle.distributed import fleet


def main() -> None:
    fleet_process.run(fleet.PaddleCloudRoleMaker)


if __name__ == "__main__":
    main()
