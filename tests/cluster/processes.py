"""What runs on this machine, as /proc tells it."""

from pathlib import Path


def command_lines() -> str:
    """The command lines of all processes."""
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
