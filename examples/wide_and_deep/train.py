"""Wide & Deep for click-through rate, with Fleet's parameter servers, asynchronously.

Every server and every worker of a PaddleJob runs this program. The operator gives each
process its role and the addresses of its peers in environment variables, which Fleet's
PaddleCloudRoleMaker reads.
Nothing else has to be set.
"""

from __future__ import annotations

import fleet_process
from paddle.distributed import fleet


def main() -> None:
    """Run in the role that the environment says."""
    fleet_process.run(fleet.PaddleCloudRoleMaker)


if __name__ == "__main__":
    main()
