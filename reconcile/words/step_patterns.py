"""The lines in which training tools report a step: one linear expression per tool.

Every repeat in these expressions is bounded, so a search costs at most a constant per character.
The first expression that matches counts, so narrow formats come before wide ones. Most lines are
ruled out by a word that they lack, because looking for a word is much faster.
"""

import re
from typing import NamedTuple

COUNT = r"\d{1,12}(?![\w.]|,\d{3}(?!\d))"
"""Not 1e5, 12ms, or the first part of 1,200."""
NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,4})?|nan|inf)(?![\w.:])"


class Pattern(NamedTuple):
    """An expression, and words: every line that it matches has at least one of them."""

    words: tuple[str, ...]
    expression: re.Pattern[str]
    is_per_epoch: bool = False
    """The count starts again in each epoch, so its total is that of one epoch."""

    def search(self, line: str) -> re.Match[str] | None:
        """The first match, if there is any."""
        for word in self.words:
            if word in line:
                return self.expression.search(line)
        return None


def _pattern(words: str, expression: str, is_per_epoch: bool = False) -> Pattern:
    """A pattern for text in lower case; `words` are separated by spaces."""
    for name in ("step", "total", "epoch", "epochs"):
        expression = expression.replace(f"<{name}>", f"(?P<{name}>{COUNT})")
    return Pattern(tuple(words.split()), re.compile(expression), is_per_epoch)


STEP_PATTERNS = {
    "PaddleOCR": _pattern(
        "global_step iter:", r"epoch: \[<epoch>/<epochs>\], (?:global_step|iter): <step>"
    ),
    "PaddleSeg": _pattern("[train]", r"\[train\] epoch: <epoch>, iter: <step>/<total>"),
    "PaddleClas": _pattern(
        "[iter:", r"\[epoch <epoch>/<epochs>\] ?\[iter: ?<step>/<total>\]", True
    ),
    "PaddleDetection": _pattern("epoch:", r"epoch: \[<epoch>\] \[ {0,8}<step>/<total>\]", True),
    "Trainer and PaddleNLP's scripts": _pattern(
        "global",
        r"\bglobal[_ ]step(?:['\"]?: ?| )<step>(?:/<total>)?(?:, epoch['\"]?: ?<epoch>(?=,))?",
    ),
    "tqdm of an epoch": _pattern(
        "%|",
        r"\bepoch:? ?\[?<epoch>(?:/<epochs>)?\]?:? {1,4}\d{1,3}%\|[^|]{0,300}\| <step>/<total> \[",
        True,
    ),
    "tqdm": _pattern("%|", r"\d{1,3}%\|[^|]{0,300}\| {0,8}<step>/<total> \["),
    "hapi Model.fit": _pattern("step", r"^step {1,8}<step>/<total> - ", True),
    "keras": _pattern("/", r"^ {0,8}<step>/<total> (?:\[[=>.]{1,80}\]|[━╸╺ ]{1,80})", True),
    "epoch and step": _pattern(
        "step iter batch",
        r"\bepoch[ :=]{0,2} ?\[?<epoch>(?:/<epochs>)?\]?[,;| -]{1,4}"
        r"\[?(?:step|iter|iteration|batch)(?:_id)?[ :=]{0,2} ?\[?<step>(?:/<total>)?\]?",
        True,
    ),
    "step": _pattern(
        "step iter",
        r"\b(?:step|iter|iteration)['\"]?[ :=]{1,2} ?\[?<step>(?: ?/ ?<total>)?",
    ),
}
"""By tool. Groups: step, and, if the line has them, total, epoch and epochs."""
EPOCH = _pattern("epoch", r"^epoch:? ?\[?<epoch>/<epochs>\]?$")
"""The head of an epoch, on a line of its own (hapi, keras)."""
ASIDE = (
    _pattern(
        "eval valid predicting",
        r"\b(?:eval|evaluat(?:ing|ion)|validati(?:ng|on)|predicting)\b",
    ),
    _pattern("test val", r"^[\[ ]{0,8}(?:test|testing|val|valid)\b(?!['\"=])"),
    _pattern("%|", r"^ {0,8}epochs?:? {1,4}\d{1,3}%\|"),
    _pattern(
        "%|",
        r"^ {0,8}(?:map|filter|(?:down)?loading|tokenizing|generating|extracting)\b[^|]{0,80}\d%\|",
    ),
    _pattern("%|", r"\.(?:safetensors|pdparams|json|txt|model|zip|gz|tgz|tar): {1,4}\d{1,3}%\|"),
    _pattern("b/s", r"\d%\|[^|]{0,300}\|[^|]{0,60}[\d?] ?[kmg]?i?b/s"),
)
"""Counts in such a line are no steps of the training: evaluation, bars of epochs, data, files."""
EVALUATION_BEGINS = _pattern(
    "eval predict", r"^eval begin|\bstart evaluating\b|\*\*\* running (?:eval|predict)"
)
EVALUATION_ENDS = _pattern("eval", r"^eval samples|\[eval\]|\beval_\w{1,40}['\"]?: ")
"""Around the lines of hapi, PaddleSeg and Trainer that look like those of their training."""
RATE = _pattern(
    "samples images/s sequences/s sentences/s",
    rf"(?<![\w.])(?P<before>{NUMBER}) ?(?:samples|images|sequences|sentences)/s"
    rf"|samples_per_second['\"]?: ?(?P<after>{NUMBER})",
)
SAVING = Pattern(
    ("Saving model checkpoint to ",),
    re.compile(r"\bSaving model checkpoint to (?P<path>.{0,400}?checkpoint-(?P<step>\d{1,12}))\b"),
)
"""Written before the checkpoint is whole; a later step shows that it is."""
MARK = Pattern(("paddlejob: ",), re.compile(r"(?:^|(?<=[\s\]]))paddlejob: "))
MARKED_VALUE = re.compile(r"(?<!\S)([A-Za-z0-9_/-]{1,40})=(\S{1,256})(?!\S)")
METRIC = re.compile(
    rf"(?<![\w/.-])(?:([A-Za-z_][A-Za-z0-9_/-]{{0,39}}+)['\"]?(?: is)? ?[:=] ?"
    rf"|((?ai:loss|acc|accuracy|lr|ips|ppl)) )((?i:{NUMBER}))(?!%\|)"
)
