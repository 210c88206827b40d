"""How long a test waits for what has to come: so long that only a hang meets the deadline.

No test asserts how fast a machine is, so there is one deadline for everything, whatever is waited
for. TEST_PATIENCE stretches it: 2 for twice as long, 0.1 while you look for a hang.
What has to be quick or small is held by counts, or by `make timings`.
"""

import os

FACTOR = float(os.environ.get("TEST_PATIENCE", "1"))
SECONDS = 900.0 * FACTOR
"""For one wait, one program or one answer."""
TEST_SECONDS = 4 * SECONDS
"""For a whole test with its fixtures, where something hangs that nobody waits for."""
IN_KUBECTL = f"--timeout={SECONDS:.0f}s"
"""The same for a wait of kubectl's or Helm's own."""
