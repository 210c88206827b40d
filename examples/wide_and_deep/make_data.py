"""Write a click log to a directory, as files for `train.py`: `python make_data.py DIRECTORY`.

With `--shards N` the log is divided by worker, into directories 0 to N-1. The defaults come from
the environment, as in `settings.py`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import clicks
import settings
from source import HELD_OUT_FILE


def main() -> None:
    """Write the data set that the arguments ask for."""
    usual = settings.from_environment()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--samples", type=int, default=usual.samples)
    parser.add_argument("--part-size", type=int, default=usual.part_size)
    parser.add_argument("--held-out", type=int, default=usual.held_out)
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--seed", type=int, default=usual.seed)
    given = parser.parse_args()
    model = clicks.ClickModel(given.seed)
    for part, start in enumerate(range(0, given.samples, given.part_size)):
        shard = given.directory / str(part % given.shards) if given.shards else given.directory
        shard.mkdir(parents=True, exist_ok=True)
        size = min(given.part_size, given.samples - start)
        clicks.write_lines(model.part(part, size), shard / f"part-{part:05}.txt")
    held_out = model.part(clicks.HELD_OUT_PART, given.held_out)
    clicks.write_lines(held_out, given.directory / HELD_OUT_FILE)


if __name__ == "__main__":
    main()
