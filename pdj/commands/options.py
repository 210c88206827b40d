"""Options that several commands have, and checks of their values."""

import argparse
import math
import re

from api.constants import GROUP, PLURAL, SHORT_NAME
from pdj.errors import Usage
from pdj.gather.paths import is_name

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KINDS = (SHORT_NAME, PLURAL, PLURAL.removesuffix("s"), f"{PLURAL}.{GROUP}")


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name files, by position or with -f; `files_of` returns the names."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="YAML or JSON; - is standard input"
    )
    parser.add_argument(
        "-f",
        "--filename",
        dest="named",
        action="append",
        default=[],
        metavar="FILE",
        help="another FILE, as in kubectl (repeatable)",
    )


def files_of(options: argparse.Namespace) -> list[str]:
    """The files that were named; raises Usage if there is none."""
    files: list[str] = [*options.named, *options.files]
    if not files:
        raise Usage("a FILE is required; - is standard input")
    return files


def natural(text: str) -> int:
    """Parse a natural number."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a whole number, 0 or more: {text}")
    return int(text)


def seconds(text: str) -> float:
    """Parse a number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text}")
    return value


def ago(text: str) -> int:
    """Parse a time before now, in seconds, 1 or more."""
    match = re.fullmatch(r"(\d+)([smhd]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not a time such as 30s, 5m, 2h: {text}")
    return max(1, int(match[1]) * _UNITS[match[2] or "s"])


def job_name(text: str) -> str:
    """Parse a job's name, also in the form that `list -o name` prints."""
    kind, slash, name = text.rpartition("/")
    if (slash and kind not in _KINDS) or not is_name(name):
        raise argparse.ArgumentTypeError(f"not the name of a job: {text!r}")
    return name
