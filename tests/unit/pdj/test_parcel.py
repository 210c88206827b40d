"""Requirements of a folder that somebody else has made: no password in them, no way out of it."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from pdj.code.file import read
from pdj.code.parcel import Parcel
from pdj.errors import Problem
from tests.unit.pdj.test_folder_of_others import write

PASSWORDS = (
    "https://u:p@h/s", "https://tok@h/", "git+https://x:tok@example.com/a/b@v1", "HTTPS://u:p@h",
    "a @ https://u:p@ss@h/x.whl", "https://TOKEN:@h/", "https://me:pa/ss@h/", "https://me:12#x@h",
    "https://h/simple?private_token=x", "git+ssh://git:pw@h/x", "https://u@corp.com:pw@h/s",
    "https://${USER}:pw@h", "https://me:${A}x@h", "https://u%3Apw@h", "https://h/simple?pwd=x",
    "https://h/x?X-Amz-Signature=1", "https://u:p@[::1]/x", "https://tok:x-oauth-basic@h",
    "https://git@corp.com:pw@h", "git+ssh://git@corp.com:pw@h/a/b@v1",
)  # fmt: skip
NONE = (
    "https://h/s", "git+ssh://git@h/a/b.git@v1", "git+https://h/a/b@v1", "git+https://h:8443/a@v1",
    "https://${U}:${P}@h/", "https://me:$(PIP_P)@h/", "https://${T}@h", "https://[::1]:80/a@b",
    "git+https://git@h/x", "a==1 # me@corp.com", "https://h/x.whl#sha256=abc&egg=b", "git@h:a/b",
    "https://${T}:x-oauth-basic@h", "https://h/s?token=${T}", "ssh://h:22/x@y",
    "https://h/x?design=blue", "git+ssh://git@h@v1",
)  # fmt: skip
OPTIONS = ("{}", "--index-url {}", "--extra-index-url={}", "-f {}", "-i {}", "# {}")


def a_parcel(folder: Path, requirements: str, index: str = "", more: str = "") -> Parcel:
    write(folder, "train.py", "more/deep.txt", "more/r.txt")
    (folder / "r.txt").write_text(requirements)
    for name in ("deep.txt", "with blanks"):
        (folder / "more" / name).write_text(f"-c r.txt\n{more}\n")
    (folder / "more/in").mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (folder / "way").symlink_to("more/in")
    return Parcel(folder, folder / "r.txt", index)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("url", PASSWORDS)
def test_a_password_in_a_url_is_refused_and_not_repeated(url, option, tmp_path):
    for parcel in (
        a_parcel(tmp_path, option.format(url)),
        a_parcel(tmp_path, f"-i \\\n{url[:12]}\\\n{url[12:]}"),
        a_parcel(tmp_path, f"-i \\\r\n{url[:12]}\\\r\n{url[12:]}"),
        a_parcel(tmp_path, "a", url),
        a_parcel(tmp_path, "a\n-r more/deep.txt\n", more=option.format(url)),
        a_parcel(tmp_path, "-r \\\n 'more/deep.txt'\n", more=option.format(url)),
        a_parcel(tmp_path, "a --pre -r 'more/with blanks'\n", more=option.format(url)),
        a_parcel(tmp_path, "-r way/../deep.txt\n", more=option.format(url)),
        Parcel(tmp_path, [option.format(url)]),
    ):
        with pytest.raises(Problem, match="has a password") as refused:
            parcel.pack()
        assert url not in refused.value.for_shell


@pytest.mark.parametrize("url", NONE)
def test_a_url_without_a_password_is_sent(url, tmp_path):
    for option in OPTIONS:
        assert a_parcel(tmp_path, option.format(url), more=url).pack()
    if url.startswith("https"):
        assert a_parcel(tmp_path, "-r more/deep.txt", url, url).pack()


def test_an_index_without_a_scheme_has_its_password_too(tmp_path):
    with pytest.raises(Problem, match="has a password"):
        a_parcel(tmp_path, "a", "u:p@h/simple").pack()


def test_requirements_that_name_each_other_without_end_are_read_once(tmp_path):
    (tmp_path / "a").symlink_to(".")
    (tmp_path / "b").symlink_to(".")
    assert a_parcel(tmp_path, "-r a/r.txt\n-r b/r.txt\n").pack()


def test_a_linked_folder_is_no_way_out_for_requirements(tmp_path, monkeypatch):
    folder = write(tmp_path / "in", "train.py", "lib/r.txt")
    write(tmp_path, "mine/r.txt")
    (folder / "out").symlink_to("../mine")
    (folder / ".pdjignore").write_text("out\n")
    monkeypatch.chdir(folder)
    for file in (folder / "out/r.txt", Path("out/r.txt"), folder / "lib/../out/r.txt"):
        with pytest.raises(Problem, match="is a link out of the folder"):
            Parcel(folder, file).pack()
    (tmp_path / "linked").symlink_to("in/lib")
    for file in (Path("../mine/r.txt"), tmp_path / "linked/r.txt"):
        assert Parcel(folder, file).pack()


def test_requirements_that_become_a_link_meanwhile_are_not_read(tmp_path, monkeypatch):
    folder = write(tmp_path / "in", "train.py", "r.txt")
    write(tmp_path, "mine")

    def late(path: Path, most: int, name: str = "") -> bytes:
        if name:
            (folder / name).unlink()
            (folder / name).symlink_to("../mine")
        return read(path, most, name)

    monkeypatch.setattr("pdj.code.parcel.read", late)
    with pytest.raises(Problem, match="cannot read"):
        Parcel(folder, folder / "r.txt").pack()


def test_requirements_are_no_way_out_of_the_folder(tmp_path):
    folder, mine = write(tmp_path / "in", "train.py"), write(tmp_path, "mine") / "mine"
    (folder / ".pdjignore").write_text("r.txt\n")
    link = folder / "r.txt"
    for target in ("../mine", "/dev/zero"):
        link.symlink_to(target)
        with pytest.raises(Problem, match="is a link out of the folder"):
            Parcel(folder, link).pack()
        link.unlink()
    os.mkfifo(link)
    with pytest.raises(Problem, match="cannot read"):
        Parcel(folder, link).pack()
    link.unlink()
    link.symlink_to("train.py")
    for file, content in ((mine, b"mine"), (link, b"train.py")):
        bundle = Parcel(folder, file).pack()
        assert bundle is not None
        assert bundle.requirements == content


@pytest.mark.parametrize("target", ["../mine", "conf/../../mine", "/etc/passwd"])
def test_a_link_beside_the_folder_is_no_way_out_either(target, tmp_path, monkeypatch):
    """Whoever made the folder has perhaps made what lies around it, too."""
    folder = write(tmp_path / "theirs", "code/train.py", "conf/r.txt")
    write(tmp_path, "mine")
    link = folder / "requirements.txt"
    link.symlink_to(target)
    monkeypatch.chdir(folder)
    for file in (link, Path("requirements.txt"), Path("code/../requirements.txt")):
        with pytest.raises(Problem, match="is a link out of the folder"):
            Parcel(Path("code"), file).pack()
    link.unlink()
    for name in ("conf/r.txt", "code/train.py"):
        link.symlink_to(name)
        bundle = Parcel(Path("code"), link).pack()
        assert bundle is not None
        assert bundle.requirements == name.encode()
        link.unlink()


def test_requirements_come_from_a_pipe_or_are_no_longer_than_they_may_be(tmp_path):
    folder = write(tmp_path / "in", "train.py")
    ours, theirs = os.pipe()
    with os.fdopen(ours), os.fdopen(theirs, "w") as pipe:
        pipe.write("a==1")
        pipe.close()
        bundle = Parcel(folder, Path(f"/dev/fd/{ours}")).pack()
    assert bundle is not None
    assert bundle.requirements == b"a==1"
    (tmp_path / "zeros").symlink_to("/dev/zero")
    with pytest.raises(Problem, match="too large with the requirements"):
        Parcel(folder, tmp_path / "zeros").pack()
