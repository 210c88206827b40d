"""Starts a cluster of processes on this machine, which ends with its client."""

import contextlib
import sys

from pdj.commands.local import check_installed, run_host
from pdj.text.terminal import plain


def start(stack: contextlib.ExitStack, nodes: int) -> str:
    """Start a cluster, which ends with `stack` or this process. Returns its kubeconfig's path."""
    check_installed()
    order = {"objects": [], "namespace": "default", "nodes": nodes}
    _, ready = stack.enter_context(run_host(_say, order))
    return str(ready["kubeconfig"])


def _say(text: str) -> None:
    sys.stderr.write(f"{plain(text)}\n")
