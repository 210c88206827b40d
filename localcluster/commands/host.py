"""`python -m localcluster.commands.host`: a cluster with an operator and a job, until standard
input ends.

`kubectl pdj run --local` starts this process. Standard input has one line of JSON, an `Order`, and
then stays open: when it is closed, for whatever reason, the cluster ends. Each line of standard
output is JSON. The first is {"folder": ...}, the process's temporary folder. Lines with {"say":
...}, for people, follow. Then {"kubeconfig": ..., "namespace": ...} says that the cluster is ready.
After an error, at any time, the last line is {"error": ...} and the exit code 1. The process
removes the folder when it ends; if it was killed, the caller can. Only cached builds and Python
environments stay.

This module needs the standard library alone. If the packages of the cluster are not installed, the
process goes on with another Python, and gets its folder as an argument.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.project import IMPORTS, PROJECT, command
from localcluster.node.runtime.spawner import need_isolation
from localcluster.provision.ownpackages import ensure_python

CHECK_SECONDS = 1.0
INPUT_SECONDS = 0.2
INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    """Run the cluster until standard input ends; return the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells start us with it ignored
    folder = Path(arguments[0] if arguments else tempfile.mkdtemp(prefix="pdj-local-"))
    tempfile.tempdir = str(folder)
    try:
        if not arguments:
            tell(folder=str(folder))
            with interrupted_by_end_of_input():
                python = ensure_python(say)
            if python != Path(sys.executable):
                go_on_with(python, folder)
        return run(folder)
    except (LocalClusterError, OSError) as error:
        tell(error=str(error))
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def go_on_with(python: Path, folder: Path) -> None:
    """Run this program with another Python, in the same process."""
    imports = IMPORTS
    if imports.resolve() != PROJECT:  # the user's packages are there, too: show ours alone
        imports = folder / "imports"
        imports.mkdir()
        (imports / PROJECT.name).symlink_to(PROJECT)
    words = [str(python), *command("localcluster.commands.host", str(folder))[1:]]
    os.execve(python, words, {**os.environ, "PYTHONPATH": str(imports)})


def run(folder: Path) -> int:
    """Start everything, report the kubeconfig, and wait for the end of standard input."""
    from localcluster.commands.order import Order, start  # needs more than the standard library

    line = sys.stdin.readline()
    if not line.endswith("\n"):  # standard input was closed before the order came
        return INTERRUPTED
    need_isolation()
    order = Order(**json.loads(line))
    with contextlib.ExitStack() as stack:
        with interrupted_by_end_of_input():
            cluster = start(order, folder, stack, say)
        tell(kubeconfig=str(cluster.kubeconfig), namespace=order.namespace)
        while not select.select([sys.stdin], [], [], CHECK_SECONDS)[0]:
            cluster.raise_if_dead()
    return 0


@contextlib.contextmanager
def interrupted_by_end_of_input() -> Iterator[None]:
    """During the block, the end of standard input raises KeyboardInterrupt in this thread."""
    done, thread = threading.Event(), threading.get_ident()
    poll = select.poll()
    poll.register(sys.stdin, 0)  # for the other side's end alone: a line can wait there

    def watch() -> None:
        while not done.is_set():
            if poll.poll(INPUT_SECONDS * 1000):
                signal.pthread_kill(thread, signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, name="input", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def say(text: str) -> None:
    """Write a line for people."""
    tell(say=text)


def tell(**words: str) -> None:
    """Write one JSON line for the process that started this one."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
