"""A cluster of processes on this machine that lives as long as a client."""

import contextlib
import sys

from pdj.commands.local import check_installed, run_host
from pdj.text.terminal import plain

NAMESPACE = "default"


def start(stack: contextlib.ExitStack, nodes: int) -> str:
    """Start it until the stack ends; returns its kubeconfig. It ends with this process, too."""
    check_installed()
    order = {"objects": [], "namespace": NAMESPACE, "nodes": nodes}
    _, ready = stack.enter_context(run_host(_say, order))
    return str(ready["kubeconfig"])


def _say(text: str) -> None:
    sys.stderr.write(f"{plain(text)}\n")
