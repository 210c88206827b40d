"""What runs on this machine, as /proc tells it."""

import contextlib
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

from tests.live import patience


def each_process() -> Iterator[Path]:
    """The folder of every process; what is read below it may be gone."""
    return Path("/proc").glob("[0-9]*")


def command_line(process: int | str) -> str:
    """The words with which a process was started; nothing if it has ended."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode(errors="replace")


def command_lines() -> str:
    return "\n".join(command_line(process.name) for process in each_process())


def pid_of(program: str, folder: Path) -> int:
    """The process of this program that works below this folder, not its guard."""
    lines = ((pid, command_line(pid).partition(" ")[0]) for pid in processes_in(folder))
    return next(pid for pid, first in lines if first.endswith(program))


def processes_in(folder: Path) -> list[int]:
    """Those that work in the folder: all of a cluster do, the guards as well."""
    found = []
    for process in each_process():
        with contextlib.suppress(OSError):
            if (process / "cwd").resolve().is_relative_to(folder):
                found.append(int(process.name))
    return found


def with_variables(*variables: str) -> list[int]:
    """Those in whose environment all of these stand, as NAME=VALUE."""
    wanted, found = {each.encode() for each in variables}, []
    for process in each_process():
        with contextlib.suppress(OSError):
            if wanted <= {*(process / "environ").read_bytes().split(b"\0")}:
                found.append(int(process.name))
    return found


def descendants(process: int) -> list[int]:
    """Everything below a process, oldest first."""
    parents = {}
    for each in each_process():
        with contextlib.suppress(OSError):
            words = (each / "stat").read_text().rpartition(")")[2].split()
            parents[int(each.name)] = int(words[1])
    found: list[int] = []
    front = [process]
    while front:
        front = sorted(child for child, parent in parents.items() if parent in front)
        found += front
    return found


def listening_ports(pid: int) -> set[int]:
    """The TCP ports on which a process listens, by its sockets' inodes."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    rows = (line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes}


def open_directly(
    request: urllib.request.Request | str, tls: ssl.SSLContext | None = None
) -> HTTPResponse:
    """The answer of a server that no proxy of the environment has to do with."""
    handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)]
    answer: HTTPResponse = urllib.request.build_opener(*handlers).open(
        request, timeout=patience.SECONDS
    )
    return answer


def http_get(url: str, token: str = "", tls: ssl.SSLContext | None = None) -> tuple[int, str]:
    """Status and body of the answer, whatever they are."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        with open_directly(request, tls) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def status_of(pid: int) -> dict[str, int]:
    """The numbers in a process's status; memory is in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = (line.split(":", 1) for line in lines)
    words = {name: value.split() for name, value in fields}
    return {name: int(value[0]) for name, value in words.items() if value and value[0].isdecimal()}
