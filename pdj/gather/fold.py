"""Leaves out the settings that PaddlePaddle's launcher prints before a program's first line.

Launchers 2.6 to 3.3 print a line for each option that a variable sets, and then all options between
a title and a rule. Only the launcher's own lines in these forms are left out.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pdj.gather.merge import LogLine, Source

INSTEAD = (
    b"[settings of paddle.distributed.launch: kubectl pdj logs --launcher-settings shows them, "
    b"in Python launcher_settings=True]"
)
_FORMS = re.compile(
    rb"(?P<variable>LAUNCH WARNN?ING args \w+ will be overridden by env: )"
    rb"|LAUNCH INFO [-\d]+ [\d:,]+ "
    rb"(?:(?P<title>-+ +Configuration +-+\s*$)|(?P<rule>-+\s*$)|(?P<option>[a-z]\w*: )|(?P<other>))"
)


class Fold:
    """Puts one line, which says how to see them, in place of the settings of each start."""

    def __init__(self) -> None:
        self._outside: set[Source] = set()
        """The logs in which no option can follow: they do below the title, and at the beginning,
        because only the end of a log may be read.
        """
        self._marked: set[Source] = set()
        """The logs in which a line stands for the settings of the present start."""

    def fold(self, lines: Iterable[LogLine]) -> Iterator[LogLine]:
        """The other lines, and those with `is_fold`."""
        for line in lines:
            source, match = line.source, _FORMS.match(line.text)
            kind = match.lastgroup if match else ""
            is_below = source not in self._outside
            ends = is_below and kind in ("rule", "other")
            if kind == "title":
                self._outside.discard(source)
            elif ends or kind == "variable":
                self._outside.add(source)
            is_framed = is_below and kind in ("option", "rule")
            if not is_framed and kind not in ("title", "variable"):
                yield line
            elif source not in self._marked:
                self._marked.add(source)
                yield replace(line, text=INSTEAD, is_fold=True)
            if ends:
                self._marked.discard(source)
