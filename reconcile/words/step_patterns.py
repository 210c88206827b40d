"""The lines in which training tools report a step: one linear expression per tool.

Every repeat in these expressions is bounded, so a search costs at most a constant per character.
The first expression that matches counts, so narrow formats come before wide ones.
"""

import re
from typing import NamedTuple

COUNT = r"\d{1,12}(?![\w.]|,\d{3}(?!\d))"
"""Not 1e5, 12ms, or the first part of 1,200."""
NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,4})?|nan|inf)(?![\w.:])"


class StepPattern(NamedTuple):
    """The format of one tool. Groups: step, and, if the line has them, total, epoch and epochs."""

    tool: str
    expression: re.Pattern[str]
    is_per_epoch: bool = False
    """The count starts again in each epoch, so its total is that of one epoch."""


def _pattern(tool: str, expression: str, is_per_epoch: bool = False) -> StepPattern:
    parts = {name: f"(?P<{name}>{COUNT})" for name in ("step", "total", "epoch", "epochs")}
    for name, group in parts.items():
        expression = expression.replace(f"<{name}>", group)
    return StepPattern(tool, re.compile(expression, re.IGNORECASE), is_per_epoch)


STEP_PATTERNS = (
    _pattern("PaddleOCR", r"epoch: \[<epoch>/<epochs>\], (?:global_step|iter): <step>"),
    _pattern("PaddleSeg", r"\[TRAIN\] epoch: <epoch>, iter: <step>/<total>"),
    _pattern("PaddleClas", r"\[Epoch <epoch>/<epochs>\] ?\[Iter: ?<step>/<total>\]", True),
    _pattern("PaddleDetection", r"Epoch: \[<epoch>\] \[ {0,8}<step>/<total>\]", True),
    _pattern("Trainer", r"\bglobal_step['\"]?: ?<step>(?:, epoch['\"]?: ?<epoch>(?=,))?"),
    _pattern("PaddleNLP scripts", r"\bglobal step:? <step>(?:/<total>)?(?:, epoch: <epoch>)?"),
    _pattern(
        "tqdm of an epoch",
        r"\bepoch:? ?\[?<epoch>(?:/<epochs>)?\]?:? {1,4}\d{1,3}%\|[^|]{0,300}\| <step>/<total> \[",
        True,
    ),
    _pattern("tqdm", r"\d{1,3}%\|[^|]{0,300}\| {0,8}<step>/<total> \["),
    _pattern("hapi Model.fit", r"^step {1,8}<step>/<total> - ", True),
    _pattern("keras", r"^ {0,8}<step>/<total> (?:\[[=>.]{1,80}\]|[━╸╺ ]{1,80})", True),
    _pattern(
        "epoch and step of totals",
        r"\bepoch[ :=]{0,2} ?\[?<epoch>/<epochs>\]?[,;| -]{1,4}"
        r"\[?(?:step|iter|iteration|batch)[ :=]{0,2} ?\[?<step>/<total>\]?",
        True,
    ),
    _pattern(
        "epoch and step of an epoch",
        r"\bepoch[ :=]{0,2} ?\[?<epoch>\]?[,;| -]{1,4}"
        r"\[?(?:step|iter|iteration|batch)(?:_id)?[ :=]{0,2} ?\[?<step>/<total>\]?",
        True,
    ),
    _pattern(
        "epoch and step",
        r"\bepoch[ :=]{0,2} ?\[?<epoch>(?:/<epochs>)?\]?[,;| -]{1,4}"
        r"\[?(?:step|iter|iteration|batch)(?:_id)?[ :=]{0,2} ?\[?<step>\]?",
    ),
    _pattern(
        "step of a total", r"\b(?:step|iter|iteration)['\"]?[ :=]{1,2} ?\[?<step> ?/ ?<total>"
    ),
    _pattern("step", r"\b(?:step|iter|iteration)['\"]?[ :=]{1,2} ?<step>"),
)
EPOCH = re.compile(rf"^epoch:? ?\[?(?P<epoch>{COUNT})/(?P<epochs>{COUNT})\]?", re.IGNORECASE)
"""The head of an epoch, on a line of its own (hapi, keras)."""
ASIDE = re.compile(
    r"\b(?:eval|evaluat(?:ing|ion)|validati(?:ng|on)|predicting)\b"
    r"|^[\[ ]{0,8}(?:test|testing|val|valid)\b(?!['\"=])"
    r"|^ {0,8}epochs?:? {1,4}\d{1,3}%\|"
    r"|^ {0,8}(?:map|filter|(?:down)?loading|tokenizing|generating|extracting)\b[^|]{0,80}\d%\|"
    r"|\.(?:safetensors|pdparams|json|txt|model|zip|gz|tgz|tar): {1,4}\d{1,3}%\|"
    r"|\d%\|[^|]{0,300}\|[^|]{0,60}[\d?] ?[kMG]?i?B/s",
    re.IGNORECASE,
)
"""Counts in such a line are no steps of the training: evaluation, bars of epochs, data, files."""
EVALUATION_BEGINS = re.compile(r"^Eval begin|\bStart evaluating\b|\*\*\* Running (?:Eval|Predict)")
EVALUATION_ENDS = re.compile(r"^Eval samples|\[EVAL\]|\beval_\w{1,40}['\"]?: ")
"""Around the lines of hapi, PaddleSeg and Trainer that look like those of their training."""
SAVING = re.compile(
    r"\bSaving model checkpoint to (?P<path>.{0,400}?checkpoint-(?P<step>\d{1,12}))\b"
)
"""Written before the checkpoint is whole; a later step shows that it is."""
RATE = re.compile(
    rf"(?<![\w.])(?P<before>{NUMBER}) ?(?:samples|images|sequences|sentences)/s"
    rf"|samples_per_second['\"]?: ?(?P<after>{NUMBER})",
    re.IGNORECASE,
)
MARK = re.compile(r"(?:^|(?<=[\s\]]))paddlejob: ")
MARKED_VALUE = re.compile(r"(?<!\S)([A-Za-z0-9_/-]{1,40})=(\S{1,256})(?!\S)")
METRIC = re.compile(
    rf"(?<![\w/.-])(?:([A-Za-z_][A-Za-z0-9_/-]{{0,39}})['\"]?(?: is)? ?[:=] ?"
    rf"|(loss|acc|accuracy|lr|ips|ppl) )({NUMBER})(?!%\|)",
    re.IGNORECASE,
)
