"""`python -m tests.live.forks`: runs `kubectl pdj` again and again, each time in a fork of itself.

An interpreter that imports the tool takes ten times the CPU of a command. Each line of standard
input is an order, and each line of standard output the exit code and the CPU of a command.
"""

import gc
import json
import os
import sys
from typing import Any

from pdj.__main__ import run
from pdj.commands import COMMANDS
from pdj.main import load_command

STREAMS = (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY))


def main() -> None:
    """Import all, then do what is ordered until the input ends."""
    for name in COMMANDS:
        load_command(name)
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


def become(order: dict[str, Any]) -> None:
    """Run the command as a process of its own would, and end without taking the imports apart."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, (name, mode) in enumerate(STREAMS):
        os.dup2(os.open(order[name], mode), number)
        setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    sys.argv[1:] = order["arguments"]
    try:
        run()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))


if __name__ == "__main__":
    main()
