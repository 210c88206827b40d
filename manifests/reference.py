"""Makes docs/reference.md and its Chinese sister from the sources of what they list.

The descriptions of fields, labels, variables, metrics and flags are English in both, as kubectl,
Prometheus and the operator print them. Whatever has no description raises ValueError.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from api import constants
from api.catalogue.meaning import LANGUAGES, WHO, Words, say, say_both
from api.catalogue.pods import EXIT_CODES, VARIABLES
from api.catalogue.reasons import REASONS
from api.catalogue.states import CONDITIONS, PHASES
from api.objects import Raw
from api.schema import job_schema
from controller.options import build_parser
from metrics import Census, Metrics, NamespaceCensus

FIRST_RELEASE = "0.1.0"
SINCE = {
    field: release
    for release, fields in {
        "0.2.0": "status.lostReason status.lostSince status.message status.quickRestarts "
        "status.reason status.restartedAt",
        "0.3.0": "status.failures[].ending status.fruitlessRestarts status.givenBack "
        "status.givenBackAt status.waiting",
        "0.4.0": "spec.resume spec.stallPolicy status.lostSeconds status.progress "
        "status.resumeStep",
        "0.5.0": "spec.stallPolicy.notFinite status.progress.history",
    }.items()
    for field in fields.split()
}
"""The release that brought a field with those below it; all others are there since the first."""
INTRODUCTION: Words = (
    "Made by `make generate` from the code. Fields as kubectl explains them:",
    "由 `make generate` 从代码生成。字段、标签、变量、指标和参数的说明是英文的，与 kubectl 一致：",
)
FIELDS: Words = (
    "field | type | default | description | since",
    "字段 | 类型 | 默认值 | 说明 | 起始版本",
)
NAMES: Words = ("name | meaning", "名称 | 含义")
TRUE: Words = ("condition | true while", "条件 | 在何时为 true")
REASON: Words = (
    "reason | seen in | meaning | who acts | next step",
    "原因 | 出现在 | 含义 | 由谁处理 | 下一步",
)


def render_reference() -> dict[str, str]:
    """The text of both pages, by name."""
    sisters = {
        "reference.md": "[中文](reference.zh.md)",
        "reference.zh.md": "[English](reference.md)",
    }
    return {
        page: "\n".join(_page(language, sister)) + "\n"
        for language, (page, sister) in zip(LANGUAGES, sisters.items(), strict=True)
    }


def _page(language: str, sister: str) -> Iterator[str]:
    yield f"# {say(('Reference', '参考'), language)}\n\n{sister}\n\n{say(INTRODUCTION, language)}\n"
    yield "```bash\nkubectl explain paddlejob.spec --recursive\n```"
    schema = job_schema()["properties"]
    for title, head, rows in (
        (("Fields of spec", "spec 的字段"), FIELDS, _fields("spec", schema["spec"])),
        (("Fields of status", "status 的字段"), FIELDS, _fields("status", schema["status"])),
        (("Phases", "阶段"), NAMES, _named(PHASES, language)),
        (("Conditions", "条件"), TRUE, _named(CONDITIONS, language)),
        (("Reasons", "原因"), REASON, _reasons(language)),
        (("Labels and annotations", "标签与注解"), NAMES, _named(list_labels(), language)),
        (("Variables", "变量"), NAMES, _named(VARIABLES, language)),
        (("Exit codes", "退出码"), NAMES, _named(EXIT_CODES, language)),
        (("Metrics", "指标"), ("metric | labels | meaning", "指标 | 标签 | 含义"), list_metrics()),
        (("Flags", "参数"), ("flag | default | meaning", "参数 | 默认值 | 含义"), _flags()),
    ):  # fmt: skip
        yield f"\n## {say(title, language)}\n\n| {say(head, language)} |"
        yield "|" + "---|" * (head[0].count("|") + 1)
        yield from map(_row, rows)


def _row(cells: list[str]) -> str:
    if not all(cell.strip() for cell in cells):
        raise ValueError(f"{cells[0]} has no description")
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"


def _named(words: Mapping[str, Words | str], language: str) -> Iterator[list[str]]:
    return ([f"`{name}`", say(meaning, language)] for name, meaning in words.items())


def _reasons(language: str) -> Iterator[list[str]]:
    for reason, (who, seen, cause, next_step, note) in REASONS.items():
        meaning = say_both(cause, note, language)
        yield [f"`{reason}`", seen, meaning, say(WHO[who], language), say(next_step, language)]


def _fields(path: str, schema: Raw, since: str = FIRST_RELEASE) -> Iterator[list[str]]:
    """The fields of an object, each followed by its own; a pod template's are Kubernetes'."""
    for name, field in schema.get("properties", {}).items():
        kind, inner = _kind(field)
        default = f"`{field['default']}`" if "default" in field else "–"
        own = f"{path}.{name}"
        added = SINCE.get(own, since)
        yield [f"`{own}`", kind, default, field.get("description", ""), added]
        if name != "template":
            yield from _fields(own if inner is field else f"{own}[]", inner, added)


def _kind(field: Raw) -> tuple[str, Raw]:
    """How a field's type reads, and the schema that may have more fields."""
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"]), field
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])[0]}", field["items"]
    if "additionalProperties" in field:
        return "map", field
    low, high = field.get("minimum"), field.get("maximum")
    kind = "time" if field.get("format") == "date-time" else str(field.get("type"))
    if high is not None and high <= constants.MAX_REPLICAS:
        return f"{kind}, {low} to {high}", field
    return f"{kind}, {low} or more" if low else kind, field


def list_labels() -> dict[str, str]:
    """The constants that are labels or annotations, with the texts below their definitions."""
    body = ast.parse(Path(constants.__file__).read_text()).body
    return {
        getattr(constants, node.target.id): ast.get_docstring(ast.Module([below], [])) or ""
        for node, below in pairwise(body)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if node.target.id.startswith(("LABEL_", "ANNOTATION_"))
    }


def list_metrics() -> Iterator[list[str]]:
    """Each family of ours with its labels, which a sample shows: so each has one here."""
    metrics, one = Metrics(), {("", ""): 1.0}
    metrics.describe_build("", "")
    metrics.count_state(lambda: Census(one, one, one, one, {"": 1.0}))
    metrics.count_namespaces(lambda: NamespaceCensus(one, one, one))
    for kind in ("failed", "restarted", "lost"):
        metrics.record_outcome("team", (kind, "PS", "PodFailed", 1.0, 8))
    metrics.client.watch_age("", lambda: 0.0)
    metrics.client.requested(200, "GET", "")
    metrics.client.set_leader("", True)
    text = metrics.exposition("")[0].decode()
    for name, meaning in re.findall(r"^# HELP (?!process_|python_)(\S+) (.*)$", text, re.MULTILINE):
        sample = re.search(rf"^{name}(?:_count)?({{.*}})? ", text, re.MULTILINE)
        labels = re.findall(r'(\w+)="', sample[0]) if sample else [""]
        yield [f"`{name}`", ", ".join(labels) if labels else "–", meaning]


def _flags() -> Iterator[list[str]]:
    for flag in build_parser({})._actions[2:]:  # after --help and --version
        default = f"`{flag.default}`" if flag.default else "–"
        yield [f"`{flag.option_strings[0]}`", default, str(flag.help or "")]
