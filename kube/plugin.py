"""Runs the login plugin of a kubeconfig (`exec`), with limits on time and output.

The plugin's messages go to standard error as they come, with control characters escaped. A plugin
that does not end by itself is killed, with everything that it has started. Thread-safe.
"""

import codecs
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from api.objects import Raw
from kube.clock import Clock

PLUGIN_SECONDS = 60.0
"""The most seconds for a plugin, because a person perhaps logs in with a browser."""
PATIENCE_SECONDS = 5.0
"""After this long, a message says that we wait for the plugin."""
MAX_OUTPUT_BYTES = 1 << 20
"""The largest answer, and the largest output to the user."""
_POLL_SECONDS = 0.1
_ENDS = (signal.SIGTERM, signal.SIGHUP)


class PluginError(Exception):
    """The plugin returned no credentials; the message says why in one line."""


def ask_plugin(plugin: Raw, cluster: Raw, seconds: float = PLUGIN_SECONDS) -> Raw:
    """The status that a plugin returns: a token or a certificate. Raises PluginError.

    If SIGTERM or SIGHUP arrives while the plugin runs, kills the plugin and exits this process.
    """
    try:
        command = [str(plugin["command"]), *map(str, plugin.get("args") or ())]
        environment = _environment(plugin, cluster)
    except (KeyError, TypeError, AttributeError) as error:
        raise PluginError(f"the kubeconfig's exec cannot be read: {error!r}") from error
    hint = " ".join(str(plugin.get("installHint") or "").split())
    answer = _run(command, environment, seconds, hint)
    try:
        return {name: str(value) for name, value in json.loads(answer)["status"].items() if value}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"the login plugin {command[0]} has not answered with credentials"
        raise PluginError(why) from error


def _environment(plugin: Raw, cluster: Raw) -> dict[str, str]:
    spec: Raw = {"interactive": False}
    if plugin.get("provideClusterInfo"):
        shown = ("server", "certificate-authority-data")
        spec["cluster"] = {name: cluster.get(name) for name in shown}
    version = plugin.get("apiVersion") or "client.authentication.k8s.io/v1"
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    extra = {str(each["name"]): str(each.get("value") or "") for each in plugin.get("env") or ()}
    return {**os.environ, **extra, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _run(command: list[str], environment: dict[str, str], seconds: float, hint: str) -> bytes:
    name = f"the login plugin {command[0]}"
    with _caught_signals() as caught:
        process = _start(command, environment, name, hint)
        with process:
            try:
                answer = _read(process, name, seconds, caught)
            finally:
                if process.poll() is None:
                    with suppress(OSError):  # it has ended by itself
                        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise PluginError(f"{name} has failed: exit code {process.returncode}")
    return answer


def _start(
    command: list[str], environment: dict[str, str], name: str, hint: str
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = f"{name} cannot be run: {error}"
        raise PluginError(f"{why}: {hint}" if hint else why) from error


def _read(
    process: "subprocess.Popen[bytes]", name: str, seconds: float, caught: list[int]
) -> bytes:
    """The plugin's output, as soon as the plugin itself has ended. Exits on a caught signal."""
    now = Clock().monotonic
    started, is_told, answer = now(), False, bytearray()
    with selectors.DefaultSelector() as streams:
        streams.register(process.stdout or 0, selectors.EVENT_READ, answer.extend)
        streams.register(process.stderr or 0, selectors.EVENT_READ, _show_words())
        left = dict.fromkeys((key.fd for key in streams.get_map().values()), MAX_OUTPUT_BYTES)
        while True:
            if caught:
                sys.exit(128 + caught[0])
            has_ended, waited = process.poll() is not None, now() - started
            ready = streams.select(_POLL_SECONDS if not has_ended else 0)
            for key, _ in ready:
                data = os.read(key.fd, MAX_OUTPUT_BYTES)
                left[key.fd] -= len(data)
                if left[key.fd] < 0:
                    raise PluginError(f"{name} prints more than {MAX_OUTPUT_BYTES >> 20} MiB")
                if not data:
                    streams.unregister(key.fd)
                key.data(data)
            if has_ended and not ready:
                return bytes(answer)
            if waited > seconds:
                raise PluginError(f"{name} has not answered within {seconds:g} s")
            if waited > PATIENCE_SECONDS and not is_told:
                is_told = True
                sys.stderr.write(_plain(f"waiting for {name}, {seconds:g} s at most") + "\n")


def _show_words() -> Callable[[bytes], None]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def show(data: bytes) -> None:
        lines = decoder.decode(data, final=not data).replace("\r\n", "\n").split("\n")
        sys.stderr.write("\n".join(map(_plain, lines)))
        sys.stderr.flush()

    return show


def _plain(text: str) -> str:
    """The text with control characters escaped."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


@contextmanager
def _caught_signals() -> Iterator[list[int]]:
    """Collects the signals that would end this process, so that the plugin can be killed first.

    Signals that are ignored, as under nohup, stay ignored. Only the main thread can catch signals;
    in another thread this does nothing.
    """
    caught: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    ends = [each for each in _ENDS if is_main and signal.getsignal(each) != signal.SIG_IGN]
    before = {each: signal.signal(each, lambda number, _: caught.append(number)) for each in ends}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
