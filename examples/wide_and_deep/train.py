"""Wide & Deep for click-through rate, with Fleet's parameter servers, asynchronously.

Every server and every worker of a PaddleJob runs this same program. Which one it is, and where its
peers are, stands in the environment that the operator gives it; Fleet's PaddleCloudRoleMaker reads
that, and nothing else has to be set.
"""

from __future__ import annotations

import fleet_process
from paddle.distributed import fleet


def main() -> None:
    """Run in the role that the environment gives."""
    fleet_process.run(fleet.PaddleCloudRoleMaker)


if __name__ == "__main__":
    main()
