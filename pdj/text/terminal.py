"""Text for a terminal: colours where they are wanted, and no control characters from others.

Names, messages and logs can contain anything. `plain` escapes every character that a terminal would
interpret, or that changes the direction of text.
"""

import os
import re
from collections.abc import Callable
from typing import Any, Final, TextIO

_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_SHADE = r"(?:0?[0-47]|2[2-47]|[349][0-7]|10[0-7]|[34]9|[34]8;(?:5|2;\d{1,3};\d{1,3});\d{1,3})"
_COLOUR: Final = re.compile(rf"(\x1b\[(?:{_SHADE}(?:;{_SHADE})*)?m)")
_OF_BARS: Final = re.compile(r"\x1b\[[0-9]?[AK]")
"""Escapes that stacked progress bars use: move the cursor up, erase the line."""
COLOURS: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
BY_PHASE: Final = {
    "Completed": "green",
    "Running": "green",
    "Completing": "green",
    "Failed": "red",
    "Restarting": "yellow",
    "Pending": "yellow",
    "Starting": "cyan",
    "Scaling": "cyan",
    "Suspended": "magenta",
}
Paint = Callable[..., str]
"""Returns the text in some styles of COLOURS: `paint`, or `unpainted`."""
PODS: Final = ("cyan", "green", "yellow", "magenta", "blue")


def is_obeyed(out: TextIO) -> bool:
    """Whether the stream is a terminal that obeys escapes; a dumb one, as in an editor, is not."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def plain(text: object) -> str:
    """The text in one line, without anything that a terminal would interpret."""
    return _HARMFUL.sub(_escape, str(text))


def plain_values(value: Any, most: int | None = None) -> Any:
    """The value of JSON with every text in it plain but for its line breaks, and with at most
    `most` characters.
    """
    if isinstance(value, str):
        if most and len(value) > most:
            cut = f" … (cut: {len(value)} characters)"
            value = value[: most - len(cut)] + cut
        return "\n".join(map(plain, value.split("\n")))
    if isinstance(value, dict):
        return {plain_values(str(k), most): plain_values(each, most) for k, each in value.items()}
    return [plain_values(e, most) for e in value] if isinstance(value, list | tuple) else value


def paint(text: str, *styles: str) -> str:
    """The text in these colours."""
    codes = [COLOURS[style] for style in styles if style]
    return f"\033[{';'.join(codes)}m{text}\033[0m" if codes else text


def unpainted(text: str, *_styles: str) -> str:
    """The text without colours."""
    return text


def log_line(text: str, has_colour: bool = False) -> str:
    """A line of a log, escaped as by `plain`, with or without its colours.

    A progress bar overwrites itself after each carriage return; only its last state is kept.
    """
    text = _OF_BARS.sub("", text).rstrip("\r").rpartition("\r")[2]
    pieces = _COLOUR.split(text)  # odd indexes have the colours
    shown = [plain(each) if at % 2 == 0 else each * has_colour for at, each in enumerate(pieces)]
    return "".join(shown) + "\x1b[0m" * (has_colour and len(pieces) > 1)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def width(text: str) -> int:
    """How many columns the text takes; Chinese characters take two."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    import unicodedata  # only where a character is not ASCII

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, columns: int) -> str:
    """The text, padded with blanks."""
    return text + " " * max(0, columns - width(text))


def shorten(text: str, columns: int) -> str:
    """The text cut to this many columns, with an ellipsis if it was longer.

    A tab becomes a space: its width is unknown, and a line that wraps would confuse `redraw`.
    """
    text = text.replace("\t", " ")
    if width(text) <= columns:
        return text
    used, kept = 1, ""
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept += character
    return f"{kept}…"
