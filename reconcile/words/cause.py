"""Finds the line that says why a program failed in the last lines of its log.

The last Python exception counts, or the message of a C++ library that aborts; otherwise the last
line that looks like an error. A line about a lost peer is a consequence, not a cause, because Gloo,
NCCL and brpc end the peers of a trainer that has died.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from api.signals import signal_name
from reconcile.words.fault import Fault, fault_of
from reconcile.words.launcher_log import CUT_LENGTH, clean, complaint, programs_lines, stop_signal

MAX_LINE_CHARACTERS = 500
"""The expressions below search only this much of a line: a long one would keep us busy."""
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
_FRAME = re.compile(r'\s+File "([^"]*)", line \d+')
_PREFIXED_FRAME = re.compile(r'(\S.{0,60}?[ \t]?)  File "[^"]*", line \d+, in ')
"""A frame in a log that puts something before each line, such as a rank, a process or a time."""
_DIGITS = re.compile(r"\d+")
_RAISED = re.compile(
    r"[A-Za-z_][\w.<>]*:(?: |$)"
    r"|[\w.<>]*(?:Error|Exception|Interrupt|Exit|Iteration)$|\w+(?:\.[\w<>]+)+$"
)
_NESTED = re.compile(r"[\s|]+([\w.]+(?:Error|Exception): .+)")
"""An exception in an ExceptionGroup, or below PaddlePaddle's frames of a translated graph."""
_TRANSLATED = ": In transformed code:"
_ASSERTION = "AssertionError"
"""An assertion without a message; the asserted expression is on the line above."""
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_ASIDE = ("Exception ignored in", "Error in atexit", "Error in sys.excepthook")
"""The exception of a traceback that follows such a line did not end the program."""
_ELSEWHERE = re.compile(
    r"subprocess\.CalledProcessError: .* returned non-zero exit status"
    r"|SystemError: \(Fatal\) Blocking queue is killed because the data reader raises"
)
"""Exceptions about another process or thread, which has itself logged why it failed."""
_BEGINS_BELOW = re.compile(r".*(?::|: \([A-Z]\w+\)\.?)$")
"""An error whose message is on the next line."""
_LAST_ERROR = "Last error:"
"""PyTorch's line before NCCL's own message, two lines after the exception."""
_OTHERS_LINE = re.compile(r"Traceback|[EFIW]\d{4} ")
"""The next line of a log if NCCL has no message."""
_INTERPRETER = re.compile(r"^/\S+/(python[\d.]*: )")
"""The interpreter's folder is dropped: it can be so long that a table cuts the reason off."""
_LAUNCHER_FILES = re.compile(r"paddle/distributed/launch/|torch/distributed/(?:launcher/|run\.py)")

NOTHING_KEPT = "its node kept only what PaddlePaddle's launcher wrote"
"""The cause if the message has only the launcher's dump of an environment, of over 1.6 KB."""
_SUMMARY = "Error Message Summary:"
"""PaddlePaddle prints this line before the message of a C++ error."""
_DETECTED = re.compile(r"FatalError: `.*` is detected by the operating system")
"""PaddlePaddle's line about the signal that ends it."""
_THROWN = re.compile(r"terminate called after throwing an instance of '(.*)'")
_WHAT = re.compile(r"\s*what\(\): +(.+)")
_FATAL_LOG = re.compile(r"F\d{4} [\d:.]+ +\d+ ")
"""The head of a glog line after which the process aborts."""
_ERROR = re.compile(
    r"^E\d{4} |(?:error|exception|interrupt)\b|\b(?:fatal|fail(?:ed|ure)?|cannot|can't|could not"
    r"|unable to|not found|no such|no module|no space|denied|not permitted|killed|abort(?:ed|ing)?"
    r"|terminated|segmentation fault|bus error|illegal instruction|core dumped|out of memory"
    r"|refused|timed? ?out|nan|invalid|unrecognized|undefined symbol|exceeded|panic|critical"
    r"|corrupt(?:ed|ion)?)\b"
    r"|错误|失败|无法|异常|找不到|未找到|不存在|没有那个|不足|不够|超时|拒绝",
    re.IGNORECASE,
)
_OBITUARY = re.compile(
    r"(?:.*\bline \d+: +\d+ )?(?:Aborted|Terminated|Segmentation fault|Bus error"
    r"|Illegal instruction|Floating point exception)(?: +\(core dumped\))?(?:  .*)?$"
    r"|.*\bDataLoader \d+ workers exit unexpectedly|terminate called without an active exception"
)
"""A shell's message that a signal ended a process, or PaddlePaddle's about DataLoader workers."""
_NO_ERROR = re.compile(
    r"[Ww]arning|\bWARN|\b(?:INFO|DEBUG)\b|^[IW]\d{4} |\b(?:0|no) (?:errors|failures)\b"
    r"|[Ee]rror(?: rate)?\s*[=:]?\s*\d*\.\d"
)
_CONSEQUENCE = re.compile(
    r"connection (?:was )?(?:reset|closed|aborted|refused|lost|timed out)|broken ?pipe|got eof"
    r"|\b(?:by|from) (?:remote )?peer|peer (?:has )?(?:closed|lost|failed|reset)|no route to host"
    r"|socket (?:closed|timeout)|fail(?:ed)? to connect|connect failed|not connected to"
    r"|fleet (?:pull|push) .*failed|remote process|nccl(?:remote|system)error"
    r"|nccl.*(?:unhandled system error(?!.*shared memory)|timed? ?out|abort)"
    r"|call to (?:recv|send|connect)"
    r"|gloo.*(?:pair\.cc|buffer\.cc|context\.cc|timed? ?out|timeout)"
    r"|(?:timed? ?out|timeout).*(?:gloo|nccl|store|barrier|collective|rank|peer|rendezvous)"
    r"|exception on one of the rank|rendezvous(?:closed|connection|timeout)error"
    r"|tcp_store\.cc|tcp (?:receive|send) error|watchdog caught",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LastWords:
    """A program's last lines before it failed.

    `cause` is the line that says why; if no line looks like an error, it is the last line, and
    `is_error` is False. `is_consequence`: the cause is about a lost peer. `lines` are the lines of
    the program, without those of the launcher.
    """

    cause: str = ""
    is_error: bool = False
    is_consequence: bool = False
    lines: tuple[str, ...] = ()

    @property
    def says_why(self) -> bool:
        """Whether the cause is an error, and more than that a signal ended a process."""
        return self.is_error and not (_DETECTED.match(self.cause) or _OBITUARY.match(self.cause))

    @property
    def is_of_hardware(self) -> bool:
        """Whether the node's device is at fault."""
        return fault_of(self.cause) is Fault.HARDWARE


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A line that says why, with the exceptions that led to it."""

    line: int
    text: str
    chain: tuple[str, ...] = ()
    is_aside: bool = False
    is_native: bool = False
    is_launchers: bool = False
    """Raised by a launcher, PaddlePaddle's or torchrun; it counts only if no program raised any."""

    @property
    def is_consequence(self) -> bool:
        return any(_CONSEQUENCE.search(text) for text in (self.text, *self.chain))


def read_message(message: str) -> LastWords:
    """The last words in the termination message of a failed container."""
    every = clean(message)
    own = programs_lines(every, len(message) >= CUT_LENGTH)
    lines = tuple(_INTERPRETER.sub(r"\1", line[:MAX_LINE_CHARACTERS]) for line in own)
    stopped = stop_signal(every)
    if stopped is not None:
        cause = f"PaddlePaddle's launcher was stopped by {signal_name(stopped)}"
        return LastWords(cause, is_error=True, lines=lines)
    found = _find(_prefixed(lines)) or _find(lines)
    if found is not None:
        return LastWords(found.text, True, found.is_consequence, lines)
    said = complaint(every)
    if said or lines:
        return LastWords(said or lines[-1], bool(said), lines=lines)
    return LastWords(NOTHING_KEPT if every else "")  # every line was the launcher's


def _prefixed(lines: Sequence[str]) -> list[str]:
    """The lines that have the prefix of a traceback's frames, without it; none without a traceback.

    A launcher puts the prefix before the lines of its processes. Its own lines have none, and if it
    raises an error, that is because a process has ended. If the prefix names a level below error,
    such as WARNING, the program went on.
    """
    frames = filter(None, map(_PREFIXED_FRAME.match, lines))
    frame = next((each for each in frames if not _NO_ERROR.search(each[1])), None)
    if frame is None:
        return []
    prefix = re.compile(r"\d+".join(map(re.escape, _DIGITS.split(frame[1]))))
    found = [line[match.end() :] for line in lines if (match := prefix.match(line))]
    found = [line for line in found if line]
    return found if any(_exceptions(found)) else []


def _find(lines: Sequence[str]) -> _Candidate | None:
    """The last candidate of the best kind; None if there is no candidate of any kind.

    But if C++ code aborts because of a lost peer, the last candidate of that kind that is not about
    a lost peer counts, if there is one.
    """
    raised = list(_exceptions(lines))
    launchers = [each for each in raised if each.is_launchers]
    aside = {text for each in launchers for text in (each.text, *each.chain)}
    told = [each for each in raised if not each.is_aside and each.text not in aside]
    kinds = (
        sorted([*told, *_native_errors(lines)], key=lambda candidate: candidate.line),
        list(_matching(_DETECTED, lines)),
        launchers,
        list(_complaints(lines, {each.line for each in raised})),
        list(_matching(_OBITUARY, lines)),
        raised,
    )
    best = next((kind for kind in kinds if kind), None)
    if best is None:
        return None
    late = best[-1].is_native and best[-1].is_consequence
    return next((each for each in reversed(best) if late and not each.is_consequence), best[-1])


def _exceptions(lines: Sequence[str]) -> Iterator[_Candidate]:
    """The last line of each traceback, also of a first one whose beginning is cut off."""
    frames: list[str] | None = None
    chain: tuple[str, ...] = ()
    before = code = ""
    is_aside = False
    for index, line in enumerate(lines):
        frame = _FRAME.match(line)
        if _FRAME.match(before):
            code = line.strip() if line[0].isspace() else ""
        if _TRACEBACK.match(line):
            frames, is_aside = [], before.startswith(_ASIDE)
            chain = chain if before.startswith(_CHAINED) else ()
        elif frame:
            frames = [*(frames or ()), frame[1]]
        elif frames is not None and _RAISED.match(line):
            text = f"{line}: {code}" if code and line == _ASSERTION else _with_next(lines, index)
            is_aside = is_aside or bool(_ELSEWHERE.match(line))
            is_launchers = not is_aside and any(map(_LAUNCHER_FILES.search, frames))
            yield _Candidate(index, text, chain, is_aside, is_launchers=is_launchers)
            frames, chain = None, (*chain, text)
        before = line


def _with_next(lines: Sequence[str], index: int) -> str:
    """The line of an error, joined with the next line if the message begins only there."""
    line = lines[index]
    if line.endswith(_TRANSLATED):
        nested = (match[1] for each in lines[index:] if (match := _NESTED.match(each)))
        return next(nested, line)
    after = [each.strip() for each in lines[index + 1 : index + 4]]
    if after[1:2] == [_LAST_ERROR] and after[2:] and not _OTHERS_LINE.match(after[2]):
        return f"{line}: {after[2]}"
    following = after[0] if after else ""
    if not _BEGINS_BELOW.match(line) or "Traceback" in following:
        return line
    return f"{line} {following}".strip()


def _native_errors(lines: Sequence[str]) -> Iterator[_Candidate]:
    """Messages of C++ code that throws or aborts."""
    thrown = before = ""
    for index, line in enumerate(lines):
        if match := _THROWN.match(line):
            thrown = match[1]
        elif match := _WHAT.match(line):
            yield _Candidate(index, f"{thrown}: {match[1]}" if thrown else match[1], is_native=True)
        elif _FATAL_LOG.match(line) or (before == _SUMMARY and not _DETECTED.match(line)):
            yield _Candidate(index, _with_next(lines, index), is_native=True)
        before = line


def _matching(pattern: re.Pattern[str], lines: Sequence[str]) -> Iterator[_Candidate]:
    """The lines that begin with the pattern."""
    return (_Candidate(index, line) for index, line in enumerate(lines) if pattern.match(line))


def _complaints(lines: Sequence[str], but: set[int]) -> Iterator[_Candidate]:
    """Lines that look like an error, except the lines `but` and a traceback's code (indented)."""
    for index, line in enumerate(lines):
        if index in but or _OBITUARY.match(line) or line.startswith(_ASIDE):
            continue
        if match := _NESTED.match(line):
            yield _Candidate(index, match[1])
        elif not line[0].isspace() and _ERROR.search(line) and not _NO_ERROR.search(line):
            yield _Candidate(index, line)
