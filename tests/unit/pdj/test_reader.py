"""Files are read as kubectl reads them, with lines; what is hostile is one line, and soon."""

import json
from pathlib import Path

import pytest

from pdj.documents.reader import MAX_REQUEST_BYTES, Document, read_documents
from pdj.errors import Problem, Usage


def read(folder: Path, text: str | bytes) -> list[Document]:
    file = folder / "file.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_documents(str(file))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-02", "2026-01-02"),
        ("1:30", "1:30"),
        ("1e3", 1000),
        ("010", 8),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("yes", True),
        ("off", False),
        ("y", True),
        ("~", None),
        ("'yes'", "yes"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
    ],
)
def test_scalars_are_those_of_kubectl(tmp_path, text, value):
    (document,) = read(tmp_path, f"a: {text}\n")
    assert document.value == {"a": value}
    assert type(document.value["a"]) is type(value)


def test_every_field_has_its_line(tmp_path):
    _, document = read(tmp_path, "a: 1\n---\n# words\nspec:\n  list:\n    - name: x\n    - y\n")
    assert document.line_of(("spec", "list", 0, "name")) == 6
    assert document.line_of(("spec", "list", 1)) == 7
    assert document.line_of(("spec", "missing", "deeper")) == 4


@pytest.mark.parametrize(
    ("text", "value", "doubled"),
    [
        (
            "p: &p {a: 1, b: 2}\nq: {<<: *p, b: 3}",
            {"p": {"a": 1, "b": 2}, "q": {"a": 1, "b": 3}},
            (),
        ),
        ("p: &p {a: 1, b: 2}\nr: *p", {"p": {"a": 1, "b": 2}, "r": {"a": 1, "b": 2}}, ()),
        (
            "p: &p {a: 1}\nq: &q {a: 2, b: 2}\nr: {a: 3, <<: [*p, *q]}",
            {"p": {"a": 1}, "q": {"a": 2, "b": 2}, "r": {"a": 1, "b": 2}},
            (),
        ),
        ("a: 1\nb: 2\na: 3", {"a": 3, "b": 2}, ((3, "a"),)),
        ("p: &p {a: 1}\nq:\n  <<: *p\n  a: 2", {"p": {"a": 1}, "q": {"a": 2}}, ()),
    ],
    ids=["merged", "aliased", "merged below a field", "twice", "in place of a merged one"],
)
def test_merged_and_repeated_keys_count_as_for_kubectl(tmp_path, text, value, doubled):
    (document,) = read(tmp_path, f"{text}\n")
    assert (document.value, document.doubled) == (value, doubled)


def bomb(levels: int = 10) -> str:
    """Levels of ten aliases; ten are ten thousand million values in four hundred bytes."""
    lines = ["a0: &a0 [x]"]
    for level in range(1, levels + 1):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (bomb(), "aliases"),
        ("\n---\n".join([bomb(4)] * 30), "aliases"),
        ("a: &a [*a]", "alias within itself"),
        ("[" * 200 + "]" * 200, "nested deeper"),
        ("[" * 100_000, "nested deeper"),
        ("- " * 100_000, "nested deeper"),
        ('{"a":' * 50_000 + "\t", "nested deeper"),
        ("a:\n\t- b", ":2: a tab"),
        ("a: " + "1" * 5000, "5000 digits"),
        ("a: 1e400", "not a number"),
        ("a: !!python/object:os.system x", "kind"),
        ("? [a]\n: b", "key"),
        ("a: .inf", "not a number"),
        ("x" * (MAX_REQUEST_BYTES + 1), "MiB"),
        (b"a: \xff\xfe\n", "utf-8"),
    ],
)
def test_what_is_hostile_is_one_line(tmp_path, text, says):
    with pytest.raises(Problem, match=says) as told:
        read(tmp_path, text)
    assert "\n" not in str(told.value)


def test_the_objects_of_a_list_are_documents_with_their_lines(tmp_path):
    one, two = read(tmp_path, "kind: List\napiVersion: v1\nitems:\n- a: 1\n- b: 2\n  c: 3\n")
    assert (one.value, two.value) == ({"a": 1}, {"b": 2, "c": 3})
    assert (one.line, two.line_of(("c",))) == (4, 6)


@pytest.mark.parametrize("empty", ["", "---\n---\n", "# words\n", "~\n"])
def test_empty_documents_are_none(tmp_path, empty):
    assert read(tmp_path, empty) == []


def test_json_may_be_indented_by_tabs(tmp_path):
    (document,) = read(tmp_path, '{\n\t"a": {\n\t\t"b": "c\\td"\n\t}\n}\n')
    assert document.value == {"a": {"b": "c\td"}}
    assert document.line_of(("a", "b")) == 3


def test_json_may_write_an_emoji_as_two_escapes(tmp_path):
    value = {"a": "\N{ROCKET}", "b": r"\ud83d\ude80", "c": "\\\N{ROCKET}"}
    (document,) = read(tmp_path, json.dumps(value))
    assert document.value == value


def test_a_file_without_an_end_is_not_read_whole():
    with pytest.raises(Problem, match="MiB"):
        read_documents("/dev/zero")


def test_a_file_that_is_not_there_is_a_matter_of_usage():
    with pytest.raises(Usage, match="No such file"):
        read_documents("/no/such/file")
