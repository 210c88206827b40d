"""Extracts a program's own log lines from those of PaddlePaddle's launcher.

A termination message is the end of a log: a kubelet keeps the last 2,048 bytes or 80 lines of it
(FallbackToLogsOnError), or 4,096 bytes of a file that the program wrote. So it can begin in
the middle of anything, even of a character.

The launcher (`paddle/distributed/launch` of 2.6: controllers/controller.py, job/container.py)
starts its lines with LAUNCH. When a process fails, it writes that process's command and environment
to stderr, secrets included, and the end of the process's log to stdout, for the second time. The
two streams reach the log in any order. An environment must not get into a status, so every part of
a dump is dropped.
"""

import re

MAX_READ = 4096
"""The most bytes of a termination message that a kubelet keeps."""
CUT_LENGTH = 2000
"""A longer message has probably lost its beginning."""
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_RULE = re.compile(r"[-=*+|#\s]*")
"""Matches an empty line, and a line that only separates others."""
_UNENDED = re.compile(r"(?=LAUNCH [A-Z]+ \d{4}-\d\d-\d\d )")
"""The place where the launcher continued a line that a program had left unfinished."""
_QUOTED_FRAME = r"\n  File "
"""Marks a line that quotes a traceback: a KeyError of a DataLoader's worker, or a log in JSON."""
_LAUNCHER = re.compile(
    r"LAUNCH [A-Z]+ |Container rank -?\d+ status |env \{|launch proc_id:"
    r"|.*\blaunch_utils\.py:\d+\b|\s*\|\s+(?:PADDLE|FLAGS|POD)_\w+ "  # with --legacy, or before 2.3
)
_MESSAGE = re.compile(r"LAUNCH [A-Z]+ [-\d]+ [\d:,]+ +(.{4,})")
"""A launcher's line with its message. If a library gives Python's root logger a handler, that one
writes each message once more, in its own format."""
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception): ")
"""The program's, even if it ends as one of those messages: `RuntimeError: Pod failed`."""
_DUMP = "env {"
_FIRST_ENTRY = re.compile(r"\s*'\w+': ['\"]")
_NEXT_ENTRY = re.compile(r"['\"], '[A-Z]\w*': ['\"]")
MANY_ENTRIES = 2
_PROGRAM_ENDED = re.compile(r"LAUNCH INFO [-\d]+ [\d:,]+ Pod failed$")
_WATCHING = ("status running", "status failed")
"""The end of the launcher's last line before the program's first."""
_STOPPED = re.compile(r"LAUNCH INFO [-\d]+ [\d:,]+ (?:Terminating|Exit) with signal (\d+)")
_FORMING = re.compile(r"LAUNCH INFO [-\d]+ [\d:,]+ Waiting peer ready")
_COMPLAINT = re.compile(
    r"(?:LAUNCH (?:ERROR|CRITICAL) [-\d]+ [\d:,]+ |.*\blaunch_utils\.py:\d+(?:\]| -) (?=ABORT))"
    r"(?!Container failed)(.+)"
)


def clean(message: str) -> list[str]:
    """The non-empty lines, without colours, rules and text that a progress bar has overwritten."""
    text = message[-MAX_READ:].lstrip("\ufffd")
    text = _ESCAPES.sub("", text) if "\x1b" in text else text
    text = _UNENDED.sub("\n", text) if "LAUNCH " in text else text
    text = text.replace("\r\n", "\n")
    parts = (part for line in text.split("\n") for part in _written_out(line))
    shown = (line.rstrip().rsplit("\r", 1)[-1] for line in parts)
    lines = (line if line.isprintable() else _UNPRINTABLE.sub("", line) for line in shown)
    return [line.rstrip() for line in lines if not _RULE.fullmatch(line)]


def _written_out(line: str) -> list[str]:
    """The lines that this line quotes, or the line itself."""
    if _QUOTED_FRAME not in line:
        return [line]
    return line.replace(r"\n", "\n").replace(r"\'", "'").split("\n")


def is_launched(lines: list[str]) -> bool:
    """Whether some of these lines are the launcher's."""
    return any(_LAUNCHER.match(line) for line in lines)


def programs_lines(lines: list[str], is_cut: bool) -> list[str]:
    """The program's own lines, without the launcher's copy; takes the lines that `clean` returns.

    `is_cut`: the beginning is perhaps missing, so the first line can be the rest of any line.
    """
    has_launcher = is_launched(lines)
    messages = tuple({match[1] for line in lines if (match := _MESSAGE.match(line))})
    kept: list[str] = []
    in_dump = False
    for line in _after_cut_dump(lines, is_cut and has_launcher):
        if _LAUNCHER.match(line):
            in_dump = line.startswith(_DUMP) and not line.endswith("}")
        elif in_dump:
            in_dump = not line.endswith("}")
        elif line.endswith(messages) and not _EXCEPTION.match(line):
            continue
        elif len(_NEXT_ENTRY.findall(line)) < MANY_ENTRIES:
            kept.append(line)
    return _once(kept) if has_launcher else kept


def is_forming(line: str) -> bool:
    """Whether an elastic launcher (2.6 to 3.3) says here that it forms a group with its peers."""
    return _FORMING.match(line) is not None


def stop_signal(lines: list[str]) -> int | None:
    """The signal that made the launcher stop its processes and exit, or None."""
    return next((int(match[1]) for line in lines if (match := _STOPPED.match(line))), None)


def complaint(lines: list[str]) -> str:
    """The launcher's last error, except that a process has failed; empty if there is none."""
    return next((match[1] for line in reversed(lines) if (match := _COMPLAINT.match(line))), "")


def _after_cut_dump(lines: list[str], is_cut: bool) -> list[str]:
    """Drop a first line that is the tail of a launcher's line, and the rest of a dump after it."""
    first, following = [*lines, "", ""][:2]
    start = int(bool(first) and _is_launchers(first, following, is_cut))
    while start < len(lines) and _FIRST_ENTRY.match(lines[start]):
        start += 1
    return lines[start:]


def _is_launchers(piece: str, following: str, is_cut: bool) -> bool:
    """Whether this end of a line belongs to a line of the launcher, or to a dump."""
    ends_dump = piece.endswith(("'}", '"}')) and piece.count("}") > piece.count("{")
    if ends_dump or _FIRST_ENTRY.match(following):
        return True
    is_watching = any(piece.endswith(end) or end.endswith(piece) for end in _WATCHING)
    if _PROGRAM_ENDED.match(following):
        return is_watching
    return is_cut and (is_watching or piece.endswith("}") or bool(_LAUNCHER.match(following)))


def _once(lines: list[str]) -> list[str]:
    """If the lines end with a repetition of their beginning, drop the beginning.

    The beginning's first line can be cut off at its start.
    """
    for size in range(len(lines) // 2, 0, -1):
        copy, original = lines[:size], lines[-size:]
        if original[0].endswith(copy[0]) and original[1:] == copy[1:]:
            return lines[size:]
    return lines
