"""The lines in which training tools report a step: one linear expression per kind of line.

Every repeat in these expressions is bounded, so a search costs at most a constant per character.
The first expression that matches counts, so narrow formats come before wide ones. A search starts
at a word with which every match begins, because finding a word is much faster than matching.
"""

import re
from typing import NamedTuple

COUNT = r"(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,6}(?:(?:\.\d{1,3})?[km]|\d{0,6}))(?!\w|\.\w|,\d{3}(?!\d))"
"""Matches 10, 1,200 and 1.2k, but not 1e5, 12ms and 0.5."""
NUMBER = (
    r"[-+]?(?:(?:(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,20})(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,4})?|nan|inf)"
    r"(?![\w:]|\.\w|-\d\d-)"
)


class Pattern(NamedTuple):
    """An expression, and the words with which its matches begin; none if they begin the line."""

    words: tuple[str, ...]
    expression: re.Pattern[str]
    is_per_epoch: bool = False
    """The count starts again in each epoch, so its total is that of one epoch."""
    needs: str = ""
    """A line without this text has no match. Finding the text is even faster."""

    def search(self, line: str) -> re.Match[str] | None:
        """The first match, if there is any."""
        if self.needs not in line:
            return None
        if not self.words:
            return self.expression.match(line)
        starts = [start for start in map(line.find, self.words) if start >= 0]
        return self.expression.search(line, min(starts)) if starts else None


def _pattern(words: str, expression: str, is_per_epoch: bool = False, needs: str = "") -> Pattern:
    """A pattern for text in lower case; `words` are separated by spaces."""
    counts = re.sub(r"(?<!P)(<\w+>)", lambda name: f"(?P{name[0]}{COUNT})", expression)
    return Pattern(tuple(words.split()), re.compile(counts), is_per_epoch, needs)


_EPOCH = (
    r"\b(?:epoch|pass)(?:_id|\(train\))?['\"]?+[ :=]{0,8}+['\"\[]?+ {0,8}+"
    r"<epoch>(?: ?/ ?<epochs>)? ?"
)
_IS = r"(?=['\" :=\[])['\"]?+[ :=]{0,3}+ {0,8}+['\"\[#]?+ {0,8}+"
"""What stands between a name and its number. Nothing of it is a digit, so nothing is given back:
trying each share of a run of spaces would cost sixty times its length."""
_OF = r"(?: ?(?:/|of) {0,8}<total>)?"
_BAR = r"%\|[^|]{0,300}\| {0,8}<step>/<total> \["
STEP_PATTERNS = {
    "PaddleSeg": _pattern(
        "[train]", r"\[train\] epoch[:=] ?<epoch>(?:/<epochs>)?, iter[:=] ?<step>/<total>"
    ),
    "PaddleOCR, Trainer, PaddleNLP": _pattern("global", rf"\bglobal[_ ]step{_IS}<step>{_OF}"),
    "tqdm of an epoch": _pattern("epoch", _EPOCH + r"\]?:? {0,4}\d{1,3}" + _BAR, True, needs="%|"),
    "tqdm": _pattern("%|", _BAR),
    "tqdm without a total": _pattern(
        "", r"(?:[\w ]{1,40}: )?(?P<step>\d{1,12})it \[[^\]]{0,200}loss\b"
    ),
    "hapi Model.fit": _pattern("", r"step {1,8}<step>/<total> (?:- |\[[=>.]{1,80}\])", True),
    "keras": _pattern("", r" {0,8}<step>/<total> (?:\[[=>.]{1,80}\]|[━╸╺ ]{1,80})", True),
    "epoch and step": _pattern(
        "epoch pass",
        _EPOCH
        + r"[\],;:|\[( \t\"'-]{1,6}(?:(?:train(?:ing)? )?(?:step|iter|iteration|batch)(?:_id|_idx)?"
        + rf"{_IS}|(?<=[\[(| ]) {{0,8}}(?=\d{{1,12}}/))<step>{_OF}",
        True,
    ),
    "two fractions": _pattern("[", r"\[<epoch>/<epochs>\] ?\[<step>/<total>\]", True),
    "step": _pattern(
        "step iter it: it=",
        r"(?:\b|(?<=current_)|(?<=cur_)|(?<=train_)|(?<=training_))"
        r"(?:step|iter|iteration|it(?=[:=]))(?:s(?=[ :=\[]{1,8}\d{1,12} ?/)|\(train\))?"
        rf"{_IS}<step>{_OF}",
    ),
    "batch": _pattern("batch", rf"\bbatch{_IS}<step> ?/ ?<total>", True),
    "counted steps": _pattern("", r"[^\d/]{0,40}<step>/<total> {1,3}(?:step|iter|iteration)s?\b"),
    "fraction and loss": _pattern(
        "",
        r"[\d:., -]{0,30}(?:\[[^/\]]{0,60}\] {0,2}){0,3}(?:(?:progress|update|train(?:ing)?):? )?"
        r"[\[(]? {0,8}(?<!\d)<step> ?/ {0,8}<total>"
        r"(?:[\])].{0,80}?|[ ,:|-]{1,3}(?:train[_ ])?)loss\b",
    ),
    "pair in brackets and loss": _pattern("", r"\[<epoch>, {1,8}<step>\] loss\b"),
}
"""By tool. Each has the group `step`, and `total`, `epoch` and `epochs` if the line has them."""
SOME_EPOCH = _pattern("epoch", _EPOCH)
"""The epoch, if it is not beside the step in the line."""
TOTAL = _pattern(
    "total max_",
    r"\b(?:total|max|total_train)(?:_steps?|_iters?|(?<=total)(?=[:=]))['\"]?[ :=]{1,3}<total>",
)
"""The total, where it does not follow the step."""
EPOCH = _pattern(
    "",
    r"\W{0,4}(?:train(?:ing)? )?epoch[ :=]{0,3}\[?<epoch>(?:(?:/| of )<epochs>)?\]?"
    r"(?:$|[ ,:;|-]{1,4}(?:train(?:ing)?[_ -])?(?:avg |average |mean )?loss\b)",
)
"""The line that begins an epoch (hapi, keras), or that ends it."""
LOSS = _pattern(
    "loss train_loss train/loss",
    r"(?<![\w/])(?<!val )(?<!test )(?<!valid )(?<!eval )(?:train[_/])?loss['\"]?(?: is)?"
    r"[ :=]{1,4}['\"\[]?\d",
)
"""A loss of the training: such a line has metrics even if it has no step."""
ASIDE = (
    _pattern(
        "eval validati predicting", r"\b(?:eval|evaluat(?:ing|ion)|validati(?:ng|on)|predicting)\b"
    ),
    _pattern("", r"[\[ ]{0,8}(?:test|testing|val|valid)\b(?!['\"=])"),
    _pattern("", r" {0,8}epochs?:? {1,4}\d{1,3}%\|"),
    _pattern(
        "",
        r" {0,8}(?:map|filter|(?:down)?loading|tokenizing|generating|extracting)\b[^|]{0,80}\d%\|",
    ),
    _pattern(".", r"\.(?:safetensors|pdparams|json|txt|model|zip|gz|tgz|tar): {1,4}\d{1,3}%\|"),
    _pattern("%|", r"%\|[^|]{0,300}\|[^|]{0,60}[\d?] ?[kmg]?i?b/s"),
)
"""Lines about evaluation, bars of epochs, data and files: their counts are no training steps."""
EVALUATION_BEGINS = _pattern(
    "eval start *** ", r"eval begin|\bstart evaluating\b|\*\*\* running (?:eval|predict)"
)
EVALUATION_ENDS = _pattern("eval [eval]", r"eval samples|\[eval\]|\beval_\w{1,40}['\"]?: ")
"""Lines around an evaluation of hapi, PaddleSeg or Trainer, whose lines look like a training's."""
_SAMPLES = r"(?:samples?|images?|imgs?|sequences|sentences|examples|instances?|ins)"
RATE_WORDS = ("sample", "image", "img", "sequences", "sentences", "examples", "ins", "ips")
"""A line without any of these has no rate."""
RATE = re.compile(
    rf"(?<![\w.,])(?P<before>{NUMBER}) ?{_SAMPLES}(?:/s| per s)"
    rf"|{_SAMPLES}(?:/s(?:ec)?|_per_sec(?:ond)?)['\"]?[:=] ?(?P<after>{NUMBER})"
    rf"|\bips['\"]?[:=] ?(?P<bare>{NUMBER})(?! ?[a-z]{{1,20}}/s)"
)
SAVING = Pattern(
    ("Saving model checkpoint to ",),
    re.compile(r"\bSaving model checkpoint to (?P<path>.{0,400}checkpoint-(?P<step>\d{1,12}))\b"),
)
"""The line comes before the checkpoint is complete; a later step shows that it is complete."""
MARK = Pattern(("paddlejob:",), re.compile(r"(?:^|(?<=[\s\]]))paddlejob: ?"))
MARKED_VALUE = re.compile(r"(?<!\S)([A-Za-z0-9_/-]{1,40})=(\S{1,256}?),?(?!\S)")
METRIC = re.compile(
    rf"(?<![\w/.-])(?:([A-Za-z_][A-Za-z0-9_/-]{{0,39}}+)(?:\([A-Za-z]{{1,40}}\))?['\"]?"
    rf"(?: is)? ?[:=] {{0,4}}|((?ai:loss|cost|acc|accuracy|lr|ips|ppl)) {{1,4}})"
    rf"['\"\[]?((?i:{NUMBER}))(?!%\|)"
)
_CHINESE = re.compile(
    r"第 ?(?P<count>\d[\d,/ ]{0,30}?) ?个? ?(?P<of>轮|步|批|迭|epoch|step|batch)"
    r"|轮[次数]?|步数?|批次?|迭代(?:次数)?|损失值?|准确率|学习率"
)
_ENGLISH = dict(
    zip("轮步批迭损准学", ("epoch", "step", "batch", "iter", "loss", "acc", "lr"), strict=True)
)


MAX_WORDS = 20
"""The most Chinese words that are translated in a line; a tool's line has fewer."""


def in_english(line: str) -> str:
    """The line with its Chinese words for steps, losses and the like replaced by English ones."""

    def translate(match: re.Match[str]) -> str:
        word = match["of"] or match[0]
        return f" {_ENGLISH.get(word[0], word)} {match['count'] or ''}"

    if line.isascii() or not any(character in line for character in "轮步批迭损："):
        return line
    return _CHINESE.sub(translate, line.replace("：", ":").replace("，", ","), MAX_WORDS)
