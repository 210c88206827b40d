"""Maps exit codes to signals and their Linux names."""

CONTAINER_BASE = 128
"""A shell or a container runtime reports 128 + n for a process that signal n ended."""
MAX_SIGNAL = 64
CHILD_BASE = 256
"""If signal n ends the child of a Python program, the child's return code is -n. A program that
passes it to `sys.exit`, as PaddlePaddle's launcher does, exits with 256 - n."""
MAX_NAMED = 31
_NAMES = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2"),
    *("PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG"),
    *("XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS"),
)
"""Listed here, because `kubectl pdj` needs Linux's names on other systems too."""
SIGABRT = 6
SIGBUS = 7
SIGKILL = 9
SIGTERM = 15


def signal_of(exit_code: int) -> int | None:
    """The signal that ended a container or one of its processes; None if a program just exited.

    255 counts as `exit(-1)`, which is more common than a child ended by SIGHUP.
    """
    if CONTAINER_BASE < exit_code <= CONTAINER_BASE + MAX_SIGNAL:
        return exit_code - CONTAINER_BASE
    return CHILD_BASE - exit_code if is_of_child(exit_code) else None


def is_of_child(exit_code: int) -> bool:
    """Whether the code means that a signal ended a child of the container's first process."""
    return CHILD_BASE - MAX_NAMED <= exit_code < CHILD_BASE - 1


def signal_name(number: int) -> str:
    """`SIGKILL`, or `signal 34` for one without a name."""
    return f"SIG{_NAMES[number - 1]}" if 0 < number <= MAX_NAMED else f"signal {number}"
