"""What runs on this machine, as /proc tells it."""

import ssl
import urllib.error
import urllib.request
from pathlib import Path


def command_lines() -> str:
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return "\n".join(lines)


def pid_of(program: str, folder: str) -> int:
    """The process of this program that works below this folder, not its guard."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            first = (process / "cmdline").read_text().split("\0")[0]
            if first.endswith(program) and str((process / "cwd").resolve()).startswith(folder):
                return int(process.name)
        except OSError:
            continue
    raise AssertionError(f"no {program} in {folder}")


def processes_in(folder: Path) -> list[int]:
    """Those that work in the folder: all of a cluster do, the guards as well."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
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


def http_get(url: str, token: str = "", tls: ssl.SSLContext | None = None) -> tuple[int, str]:
    """Status and body of the answer, whatever they are."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10, context=tls) as answer:
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
