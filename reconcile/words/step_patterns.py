"""The lines in which training tools report a step: one linear expression per kind of line.

Every repeat in these expressions is bounded, so a search costs at most a constant per character.
The first expression that matches counts, so narrow formats come before wide ones. A search starts
at a word with which every match begins, because finding a word is much faster than matching.
"""

import re
from typing import NamedTuple

UNIT = r" ?(?:%|(?:percent|[mu]?s|secs?|seconds?)\b(?!/| ?[:=]| [\d.]))"
"""After a number: it is a share or a time, so it is neither a count nor a loss."""
COUNT = (
    r"(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,6}(?:(?:\.\d{1,3})?[km]|\d{0,6}))(?!\w|\.\w|-\d|,\d{3}(?!\d))"
    rf"(?!{UNIT})"
)
"""Matches 10, 1,200 and 1.2k, but not 1e5, 12ms, 12 ms, 31%, 0.5 and 600-620."""
NUMBER = (
    r"[-+]?(?:(?:(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,20})(?:\.\d{0,20}|(?!,\d))|\.\d{1,20})(?:[eE][-+]?\d{1,4})?|nan|inf(?:inity)?)"
    r"(?!\w|:(?! )|\.\w|-\d\d-)"
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
    r"\b(?:epoch|pass)(?:_id|\(train\))?['\"]?+[ :=]{0,8}+['\"\[#]?+ {0,8}+"
    r"<epoch>(?: ?(?:/|of) ?<epochs>)? ?"
)
_NAME = r"(?:(?<![\w.])(?<!\w[-/])|(?<=\bcur_)|(?<=\bcurrent_)|(?<=\btrain_)|(?<=\btraining_))"
"""Where the name of a count begins: one that only ends in `step` is no step."""
_NO_PART = r"(?<!warmup )(?<!per )(?<!accumulation )(?<!micro[ -])"
"""No word before the name says that it is a part of a step, or a time."""
_IS = r"(?=['\" :=\[])['\"]?+[ :=]{0,3}+ {0,8}+['\"\[#]?+ {0,8}+"
"""What stands between a name and its number. Nothing of it is a digit, so nothing is given back:
trying each share of a run of spaces would cost sixty times its length."""
_OF = r"(?:(?: ?(?:/|of) {0,8}|['\"]?,? {1,2}['\"]?total['\"]?[:=] {0,2})<total>)?"
_UNIT = r"(?:it|steps?|iter|batch(?:es)?|ba|updates?)\b"
_BAR = (
    r"%\|[^|]{0,300}\| {0,8}<step>/<total> \["
    r"(?![^\],]{1,30}, {0,4}(?:\d{4,12}+\.|\?))"
    rf"(?![^\],]{{1,30}}, {{0,4}}[\d.?]{{1,12}}+"
    rf"(?:s/(?!{_UNIT})| ?+[kmg]?+(?!s/|{_UNIT})[a-z]{{1,12}}/s))"
)
"""A bar of tqdm, unless its rate says that it counts samples, bytes, files or epochs.
Nothing of a thousand per second is a step, as of a download that has no unit."""
_SAMPLES_OF = r" {0,2}\( {0,3}\d{1,3}(?:\.\d{1,2})?%"
_RICH = r"[━╸╺] {1,8}(?:\d{1,3}% {1,8})?<step>/<total>(?! (?:[kmgt]i?)?b(?:ytes)?\b| \[[a-z])"
"""A bar of rich, unless bytes follow, or the name of a package (pip)."""
_ARRAY = r"(?:(?:array|tensor|np\.float\d\d)\(\[{0,2})?"
"""What Python prints before the number of a library."""
_SEPARATED = r"[\],;:|\[( \t\"'-]{1,6}"
STEP_PATTERNS = {
    "PaddleSeg": _pattern(
        "[train]", r"\[train\] epoch[:=] ?<epoch>(?:/<epochs>)?, iter[:=] ?<step>/<total>"
    ),
    "PaddleOCR, Trainer, PaddleNLP": _pattern(
        "global step_idx num_updates current_steps",
        r"(?:\b|(?<=\btrain_))(?:global[_ ]step(?:/max_steps)?|step_idx|num_updates|current_steps)"
        rf"{_IS}<step>{_OF}",
    ),
    "tqdm of an epoch": _pattern("epoch", _EPOCH + r"[^%|]{0,200}" + _BAR, True, needs="%|"),
    "tqdm after a fraction": _pattern(
        "", r" {0,10}\[?\d{1,9}/\d{1,9}[\] ][^%|]{0,200}\d" + _BAR, True, needs="%|"
    ),
    "tqdm": _pattern("%|", _BAR),
    "tqdm without a total": _pattern(
        "", r"(?:[\w ]{1,40}: )?(?P<step>\d{1,12})it \[[^\]]{0,200}loss\b"
    ),
    "rich of an epoch": _pattern(
        "epoch",
        r"\bepoch[ :]{1,3}<epoch>(?:/\d{1,9})?\D{0,240}" + _RICH,
        True,
        needs="━",
    ),
    "rich": _pattern("━", _RICH),
    "hapi Model.fit": _pattern("", r"step {1,8}<step>/<total> (?:- |\[[=>.]{1,80}\])", True),
    "keras": _pattern(
        "", r" {0,8}<step>/<total> (?:\[[=>.]{1,80}\]|[━╸╺ ]{1,80}|- \d{1,6}s )", True
    ),
    "epoch and step": _pattern(
        "epoch pass",
        _EPOCH
        + _SEPARATED
        + rf"(?:(?:train(?:ing)? )?(?:step|iter|iteration)s?(?:_id|_idx)?{_IS}"
        + rf"|(?<=[\[(| ]) {{0,8}}(?=\d{{1,12}}+ ?/ {{0,8}}\d{{1,12}}+(?!{_SAMPLES_OF})))"
        + rf"<step>{_OF}",
        True,
    ),
    "two fractions": _pattern(
        "[", r"\[ {0,8}<epoch>/\d{1,9} ?\] {0,2}\[ {0,8}<step>/<total> ?\]", True
    ),
    "step": _pattern(
        "step iter it: it=",
        rf"{_NAME}{_NO_PART}(?:step|iter|iteration|it(?=[:=]))(?:_?(?:id|idx|num))?"
        rf"(?:s(?=[ :=\[]{{1,8}}\d{{1,12}} ?/)|\(train\))?{_IS}<step>{_OF}",
    ),
    "epoch and batch": _pattern(
        "epoch pass",
        _EPOCH + _SEPARATED + rf"(?:train(?:ing)? ?)?batch(?:_id|_idx)?(?:{_IS}|(?=\d))<step>{_OF}",
        True,
    ),
    "batch": _pattern(
        "batch",
        rf"\b{_NO_PART}(?!(?<=train )batch \d{{1,9}}/\d{{1,9}} loss \d)"  # WeNet: epoch/batch
        rf"batch{_IS}<step> {{0,4}}(?:/|of) {{0,4}}<total>",
        True,
    ),
    "counted steps": _pattern("", r"[^\d/]{0,40}<step>/<total> {1,3}(?:step|iter|iteration)s?\b"),
    "steps and a loss": _pattern(
        "step iter batch",
        rf"(?<!\w)(?<!\w )(?<!\w[-/])(?:steps|iters|iterations|batch(?:_id)?){_IS}<step>",
        True,
        needs="loss",
    ),
    "fraction and loss": _pattern(
        "",
        r"[\dtz:., -]{0,30}(?:\[[^/\]]{0,60}\] {0,2}){0,3}"
        r"(?:(?:progress|update|train(?:ing)?) ?:? ?)?"
        r"[\[(]? {0,8}(?<![\d.])<step> ?/ {0,8}<total>"
        r"(?:[\])].{0,80}?|[ ,:|-]{1,3}(?:train[_ ])?)loss\b",
    ),
    "pair in brackets and loss": _pattern("", r"\[<epoch>, {1,8}<step>\] loss\b"),
}
"""By tool. Each has the group `step`, and `total`, `epoch` and `epochs` if the line has them."""
SOME_EPOCH = _pattern("epoch", _EPOCH)
"""The epoch, if it is not beside the step in the line."""
SAMPLES = _pattern("epoch", rf"{_EPOCH}{_SEPARATED}<samples>/\d{{1,12}}{_SAMPLES_OF}")
"""Samples of an epoch with their percentage, as in the examples for MNIST: how many are a step?"""
TOTAL = _pattern(
    "total max_",
    r"\b(?:total|max|total_train)_(?:step|iter|iteration)s?['\"]?[ :=]{1,3}<total>",
)
"""The total, where it does not follow the step."""
HEAD = _pattern(
    "total ",
    r"\btotal (?:optimization|train(?:ing)?|update) (?:step|iter|iteration)s[ :=]{1,3}<total>",
)
"""The total, before the first step."""
ETA = Pattern(
    ("eta",),
    re.compile(
        r"\beta['\"]?[ :=]{1,3}['\"]?(?P<eta>(?:\d{1,4} days?, {1,2})?\d{1,4}:\d\d?:\d\d?)(?![\w:])"
    ),
)
"""The tool's own estimate of the time to the end."""
EPOCH = _pattern(
    "",
    r"\W{0,40}(?:train(?:ing)? )?epoch[ :=]{0,3}\[?<epoch>(?: ?(?:/|of) ?<epochs>)?\]?"
    r"(?:\W{0,40}$|[ ,:;|-]{1,4}(?:train(?:ing)?[_ -])?(?:avg |average |mean )?loss\b)",
)
"""The line that begins an epoch (hapi, keras), or that ends it."""
LOSS = _pattern(
    "loss cost",
    r"(?:loss|\b(?:avg_)?cost)[\w/]{0,20}['\"]?(?: is)?[ :=]{1,4}"
    rf"['\"\[]{{0,2}}{_ARRAY}(?:[\d.-]|(?:nan|inf(?:inity)?)\b)",
)
"""A loss: such a line is searched for metrics even if it has no step."""
ASIDE = (
    _pattern(
        "eval validat predicting sanity",
        r"\b(?:eval|evaluat(?:e|ing|ion)|validat(?:e|ing|ion)|predicting|sanity checking)\b",
    ),
    _pattern("end ", r"\bend (?:test|val|valid)\b"),
    _pattern("", r"\W{0,8}(?:test|testing|val|valid)\b(?!['\"=]|-[\w-]{1,60}-\d)"),
    _pattern(
        "test val dev cv predict inference",
        r"(?<![\w.-])(?:test|val|valid|dev|cv|predict|inference)"
        r"(?: ?:(?! {0,4}[\d.])|[ _](?:step|iter|batch|epoch)\b|[)\]]| \|)",
    ),
    _pattern(
        "mode phase split stage subset",
        r"\b(?:mode|phase|split|stage|subset)['\"]? ?[:=] ?['\"]?(?:val|valid|test|dev)\b",
    ),
    _pattern("epoch", r"\bepochs?:? {1,4}(?:\d{1,3}%\||━)"),
    _pattern(
        "",
        r" {0,8}(?:\w{1,12}: )?"
        r"(?:map|filter|(?!(?:pre)?train|fine|tun|learn|work|run)[a-z]{2,20}ing)\b"
        r"[^|]{0,80}(?:\d%\||━)",
    ),
    _pattern("", r" {0,60}(?:[a-z][^\s|%]{0,20} {2,20}){3,12}[a-z][^\s|%]{0,20}: {1,4}\d{1,3}%\|"),
    _pattern(".", r"\.(?:safetensors|pdparams|json|txt|model|zip|gz|tgz|tar): {1,4}\d{1,3}%\|"),
)
"""Lines about evaluation, and bars of epochs, data and files: their counts are no steps. A bar
that follows the names of columns is one of an evaluation: a training's has numbers below them."""
SAVED = _pattern(
    "sav best resum restor load reload",
    r"\b(?:(?:sav(?:ed?|ing)|best(?! ?[:=])|resum(?:ed?|ing)|restor(?:ed?|ing))\b(?![\].]).{0,60}"
    r"|(?:re)?load(?:ed|ing)\b[^\d|,]{0,60})\b(?:step|iter|epoch)",
)
"""What was saved or resumed: a count after it is not that of the training's last step."""
TRAIN_LOSS = _pattern("train", r"\btrain(?:ing)?[ _/](?:avg |mean )?loss\b")
"""With it, a word of evaluation only counts before the step: the line has losses of both."""
EVALUATION_BEGINS = _pattern(
    "eval start *** predict",
    r"(?:eval|predict) begin|\bstart evaluating \(|\*\*\* running (?:eval|predict)",
)
EVALUATION_ENDS = _pattern(
    "eval [eval] predict *** [train] global_step",
    r"(?:eval|predict) samples|\[eval\]|\beval_\w{1,40}['\"]?: "
    r"|\*\*\* running train|\[train\]|\bglobal_step\b",
)
"""Lines around an evaluation of hapi, PaddleSeg or Trainer, whose lines look like a training's."""
_SAMPLES = r"(?:samples?|images?|imgs?|sequences|sentences|examples|instances?|ins)"
RATE_WORDS = ("sample", "image", "img", "sequences", "sentences", "examples", "ins", "ips")
"""A line without any of these has no rate."""
RATE = re.compile(
    rf"(?<![\w.,])(?P<before>{NUMBER}) ?{_SAMPLES}(?:/s| per s)(?!(?:ec(?:ond)?)?['\"]?[:=])"
    rf"|{_SAMPLES}(?:/s(?:ec)?|[_ ]per[_ ]sec(?:ond)?)['\"]?[:=] ?(?P<after>{NUMBER})"
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
    r"(?<![\w/.-])(?:([A-Za-z_][A-Za-z0-9_/-]{0,39}+)(?!:\d{1,6}+(?:[\]):]| [-|] ))"
    r"(?:\([A-Za-z]{1,40}\))?['\"]?(?: is)? ?[:=] {0,4}"
    r"|((?ai:(?:(?:train(?:ing)?|avg|mean|total)[_/-])?(?:loss|cost|acc|accuracy|lr|ips|ppl)))"
    r"(?: is)? {1,4})"
    rf"['\"\[]{{0,2}}{_ARRAY}((?i:{NUMBER}))(?!%\|)"
)
"""A name and its number, but not `train:42 - `, a place in a program."""
_STEPS = "(?:(?<![一-龥])|(?<=[前练代局成行]))步数?"
"""As in 当前步数 and 训练步数. 累积步数 and 每轮步数 are settings."""
_CHINESE = re.compile(
    r"第 ?(?P<count>\d[\d,/ ]{0,30}?) ?[个次]? ?(?P<of>轮|步|批|迭代?|epoch|step|batch)"
    r"|总步数|总迭代(?:次数)?|轮[次数]?|批次?|迭代(?:次数)?|损失值?为?|准确率为?|学习率|验证集?|测试集?|评估"
    rf"|{_STEPS}|(?:当前|训练)?进度|训练集?"
)
_ENGLISH = {"轮": "epoch", "步": "step", "批": "batch", "迭": "iter", "损": "loss", "准": "acc"}
_ENGLISH |= {"总": "total_steps", "学": "lr", "验": "val", "测": "test", "评": "eval"}
_ENGLISH |= {"当": "progress", "进": "progress", "训": "train"}


MAX_WORDS = 20
"""The most Chinese words that are translated in a line; a tool's line has fewer."""


def in_english(line: str) -> str:
    """The line with its Chinese words for steps, losses and the like replaced by English ones."""

    def translate(match: re.Match[str]) -> str:
        word = match["of"] or match[0]
        return f" {_ENGLISH.get(word[0], word)} {match['count'] or ''}"

    if line.isascii() or not any(character in line for character in "轮步批迭损度训验测评："):
        return line
    return _CHINESE.sub(translate, line.replace("：", ":").replace("，", ","), MAX_WORDS)
