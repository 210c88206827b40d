"""A folder that somebody else has made, with a repository in it: git runs nothing of it."""

import os
import shutil
import stat
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from pdj.code.archive import MAX_DEPTH, pack
from pdj.code.file import read
from pdj.code.folder import find_files
from pdj.code.parcel import Parcel
from pdj.errors import Problem
from pdj.main import main
from tests.live.networks import is_machine_root

USER = ("-c", "user.name=a", "-c", "user.email=a@example.com")
SENT = [".gitignore", "lib/b.py", "train.py"]


def git(folder: Path, *words: str) -> str:
    command = ["git", *USER, "-c", "protocol.file.allow=always", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def a_repository(folder: Path, *words: str) -> Path:
    """With two folders of programs, and an ignored file."""
    write(folder, "train.py", "lib/b.py", "deep/x/c.py", "built.o")
    (folder / ".gitignore").write_text("*.o\n")
    git(folder, "init", *words)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "x")
    return folder


Evil = Callable[[Path, str], None]
"""Changes a repository so that git would run this command."""


def sparse(folder: Path, command: str) -> None:
    """A sparse index whose folder `deep` is a tree that a remote has to be asked for."""
    git(folder, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(folder, "sparse-checkout", "set", "lib")
    tree = git(folder, "rev-parse", "HEAD:deep")
    (folder / ".git/objects" / tree[:2] / tree[2:]).unlink()
    git(folder, "config", "core.repositoryformatversion", "1")
    git(folder, "config", "extensions.partialClone", "evil")
    git(folder, "config", "remote.evil.promisor", "true")
    git(folder, "config", "protocol.ext.allow", "always")


def fetched(url: str) -> Evil:
    def change(folder: Path, command: str) -> None:
        sparse(folder, command)
        git(folder, "config", "remote.evil.url", url.format(command))
        git(folder, "config", "core.sshCommand", command)

    return change


def uploaded(folder: Path, command: str) -> None:
    sparse(folder, command)
    git(folder, "config", "remote.evil.url", f"file://{folder}")
    git(folder, "config", "remote.evil.uploadpack", command)


def alternate(folder: Path, command: str) -> None:
    fetched("ext::{} %S")(folder, command)
    (folder / ".git/objects/info/alternates").write_text(f"{folder}/.git/other\n")


def configured(*names: str) -> Evil:
    def change(folder: Path, command: str) -> None:
        for name in names:
            git(folder, "config", name, command)

    return change


def included(folder: Path, command: str) -> None:
    (folder / "more").write_text(f"[core]\n\tfsmonitor = {command}\n")
    git(folder, "config", "include.path", "../more")
    git(folder, "config", "includeIf.gitdir:**.path", "../more")


def hooked(folder: Path, command: str) -> None:
    hooks = folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "post-index-change",
        "post-checkout",
        "fsmonitor-watchman",
        "reference-transaction",
    ):
        shutil.copy(command, hooks / name)
    git(folder, "config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman")


def filtered(folder: Path, command: str) -> None:
    configured("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv")(
        folder, command
    )
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text("* filter=x diff=x\n")


def a_bare_one(folder: Path, command: str) -> None:
    """The folder itself is a repository, as git takes one without `.git`."""
    for name in ("HEAD", "objects", "refs"):
        source = folder / ".git" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    (folder / "config").write_text(
        f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {command}\n"
    )


def nested(folder: Path, command: str) -> None:
    a_repository(folder / "other")
    configured("core.fsmonitor")(folder / "other", command)
    (folder / ".git/info/exclude").parent.mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("/other/*\n!/other/train.py\n")


def elsewhere(folder: Path, command: str) -> None:
    configured("core.fsmonitor")(folder, command)
    (folder / ".git").rename(folder.parent / "moved")
    (folder / ".git").write_text("gitdir: ../moved\n")


EVIL: dict[str, Evil] = {
    "a protocol of a command": fetched("ext::{} %S"),
    "ssh": fetched("ssh://example.com/x"),
    "the other side": uploaded,
    "an alternate": alternate,
    "a monitor": configured("core.fsmonitor"),
    "commands": configured(
        "core.pager", "core.editor", "core.askPass", "core.gitProxy", "credential.helper",
        "gpg.program", "alias.ls-files", "pager.ls-files", "diff.external",
        "uploadpack.packObjectsHook", "pager.init",
    ),
    "an include": included,
    "hooks": hooked,
    "filters": filtered,
    "a bare repository": a_bare_one,
    "a repository inside": nested,
    "a repository elsewhere": elsewhere,
}  # fmt: skip


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


@pytest.fixture
def command(tmp_path: Path, mark: Path) -> str:
    """A command that leaves a mark."""
    path = tmp_path / "evil.sh"
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\nexit 1\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL)
def test_git_runs_nothing_of_the_folder(evil, tmp_path, command, mark, monkeypatch):
    folder = a_repository(tmp_path / "in")
    evil(folder, command)
    mark.unlink(missing_ok=True)  # the repository is made with git, too
    found = find_files(folder, print)
    assert not mark.exists()
    assert {*SENT} <= {*found}
    assert "built.o" not in found
    monkeypatch.chdir(folder / "lib")
    assert find_files(Path(), print) == ["b.py"]
    assert not mark.exists()


def test_the_command_runs_nothing_of_the_folder_either(tmp_path, command, mark, capsys):
    folder = a_repository(tmp_path / "in")
    fetched("ext::{} %S")(folder, command)
    configured("core.fsmonitor")(folder, command)
    mark.unlink(missing_ok=True)
    words = ["--name", "mine", "--dry-run=client", "-o", "yaml", "--", "python", "train.py"]
    assert main(["run", "x:1", "--code", str(folder), *words]) == 0
    assert "kind: PaddleJob" in capsys.readouterr().out
    assert not mark.exists()


@pytest.mark.parametrize(
    "words",
    [(), ("--object-format=sha256",)],
    ids=["sha1", "sha256"],
)
@pytest.mark.parametrize("index", ["2", "3", "4", "split", "sparse"])
def test_what_is_tracked_is_sent_although_it_is_ignored(index, words, tmp_path):
    folder = a_repository(tmp_path, *words)
    write(folder, "kept.o", "lib/kept.o")
    git(folder, "add", "-f", "kept.o", "lib/kept.o")
    if index == "split":
        git(folder, "update-index", "--split-index")
    elif index == "sparse":
        git(folder, "commit", "-m", "y")
        git(folder, "sparse-checkout", "init", "--cone", "--sparse-index")
        git(folder, "sparse-checkout", "set", "lib")
    else:
        git(folder, "update-index", f"--index-version={index}", "--force-remove", "gone")
    deep = [] if index == "sparse" else ["deep/x/c.py"]
    kept = [".gitignore", *deep, "kept.o", "lib/b.py", "lib/kept.o", "train.py"]
    assert find_files(folder, print) == kept
    assert find_files(folder / "lib", print) == ["b.py", "kept.o"]


def test_a_linked_work_tree_and_a_submodule_have_their_own_index(tmp_path):
    folder = a_repository(tmp_path / "main")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("*.tmp\n")
    git(folder, "worktree", "add", str(tmp_path / "linked"))
    linked = write(tmp_path / "linked", "x.o", "kept.o", "y.tmp", "new.py")
    git(linked, "add", "-f", "kept.o")
    expected = [".gitignore", "deep/x/c.py", "kept.o", "lib/b.py", "new.py", "train.py"]
    assert find_files(linked, print) == expected
    outer = a_repository(tmp_path / "outer")
    git(outer, "submodule", "add", str(folder), "sub")
    assert find_files(outer / "sub", print) == [
        name for name in expected if name != "new.py" and name != "kept.o"
    ]
    with pytest.raises(Problem, match="'sub' is a git repository of its own"):
        pack(outer, find_files(outer, print), [])


def test_rules_come_from_every_gitignore_above_and_from_the_user(tmp_path, monkeypatch):
    folder = a_repository(tmp_path / "in")
    write(folder, "lib/deep/a.log", "lib/deep/keep.log", "lib/b.tmp", "lib/c.mine", "lib/d.theirs")
    (folder / "lib/.gitignore").write_text("*.log\n!keep.log\n")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("*.tmp\n")
    (tmp_path / ".gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path}/mine\n")
    (tmp_path / "mine").write_text("*.mine\n")
    (tmp_path / "theirs").write_text("*.theirs\n")
    git(folder, "config", "core.excludesFile", f"{tmp_path}/theirs")
    monkeypatch.setenv("HOME", str(tmp_path))
    names = [".gitignore", "b.py", "d.theirs", "deep/keep.log"]
    assert find_files(folder / "lib", print) == names


def an_index(*names: bytes) -> bytes:
    made = struct.pack(">4sII", b"DIRC", 2, len(names))
    for name in names:
        entry = bytes(24) + struct.pack(">I", 0o100644) + bytes(32)
        entry += struct.pack(">H", min(len(name), 0xFFF)) + name
        made += entry + bytes(8 - len(entry) % 8)
    return made + bytes(20)


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "../../outside",
        "lib/../../outside",
        "{}/outside",
        "./train.py",
        "lib//b.py",
        "out/x",
    ],
)
def test_an_index_names_nothing_outside(name, tmp_path):
    folder = a_repository(tmp_path / "a/in")
    write(tmp_path, "a/outside", "outside", "x")
    (folder / "out").symlink_to(tmp_path)
    (folder / ".git/index").write_bytes(an_index(os.fsencode(name.format(tmp_path)), b"train.py"))
    try:
        found = find_files(folder, print)
    except Problem:
        return  # git takes no such index
    assert found == [".gitignore", "deep/x/c.py", "lib/b.py", "out", "train.py"]


def test_an_index_that_is_cut_off_anywhere_is_a_line_or_harmless(tmp_path):
    folder = a_repository(tmp_path)
    whole = (folder / ".git/index").read_bytes()
    for end in range(0, len(whole), 7):
        (folder / ".git/index").write_bytes(whole[:end])
        try:
            found = find_files(folder, print)
        except Problem as refused:
            assert str(folder) in str(refused)
            continue
        if any(name.endswith("/") for name in found):  # to git, half an entry is a repository
            with pytest.raises(Problem, match="/' is a git repository"):
                pack(folder, found, [])
        else:
            assert found == [".gitignore", "deep/x/c.py", "lib/b.py", "train.py"]


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def no_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_long_pointer(path: Path) -> None:
    path.write_text(f"gitdir: {'x' * 4096}\n")


def zeros(path: Path) -> None:
    path.write_bytes(bytes(4096))


@pytest.mark.parametrize("make", [a_pipe, no_end, a_loop, a_long_pointer, zeros, Path.mkdir])
@pytest.mark.parametrize(
    "name", [".git", ".git/index", ".git/info/exclude", ".git/commondir", ".pdjignore"]
)
def test_odd_things_in_place_of_a_repository_are_a_line_or_harmless(make, name, tmp_path):
    folder = a_repository(tmp_path / "in")
    place = folder / name
    if name == ".git":
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    make(place)
    try:
        assert {*SENT} <= {*find_files(folder, print)}
    except Problem as refused:
        assert len(str(refused)) < 6000


def test_a_file_is_read_no_further_than_it_may_be_long(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")
    assert read(tmp_path / "x", 5) == b"12345"
    os.mkfifo(tmp_path / "pipe")
    for path, most in (
        (tmp_path / "x", 4),
        (Path("/proc/self/status"), 4),  # its size is 0
        (tmp_path / "pipe", 4),
        (Path("/dev/zero"), 4),
        (tmp_path, 4),
        (tmp_path / "gone", 4),
    ):
        with pytest.raises(OSError, match=r"at most 4 bytes|directory"):
            read(path, most)


def rules_of(size: int) -> Evil:
    def change(folder: Path, name: str) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(size)

    return change


def names_in_each_other(count: int) -> Evil:
    """An index of version 4: each name is 5 bytes here and 3.9 KiB in memory."""

    def change(folder: Path, name: str) -> None:
        begin, above = struct.pack(">4sII", b"DIRC", 4, count), "d/" * 1950
        entry = bytes(24) + struct.pack(">I", 0o100644) + bytes(32) + struct.pack(">H", 0xFFF)
        names = (f"{at:06}\0".encode() for at in range(count))
        first = (entry, b"\0", above.encode(), next(names))
        others = (entry + b"\6" + each for each in names)
        (folder / name).write_bytes(begin + b"".join((*first, *others)) + bytes(20))

    return change


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (rules_of(3 << 30), ".gitignore"),
        (rules_of(3 << 30), "lib/.gitignore"),
        (rules_of(3 << 30), ".git/info/exclude"),
        (rules_of(2 << 40), ".git/index"),
        (names_in_each_other(300_000), ".git/index"),
        (names_in_each_other(200_000), ".git/index"),  # git itself can hold these
    ],
)
def test_git_takes_no_more_memory_than_it_needs(change, name, tmp_path):
    folder = a_repository(tmp_path / "in")
    (folder / ".git/info").mkdir(exist_ok=True)
    change(folder, name)
    words = "from sys import argv; from pathlib import Path; from resource import *\n"
    words += "from pdj.code.folder import find_files; from pdj.errors import Problem\n"
    words += "try: find_files(Path(argv[1]), print)\nexcept Problem as refused: print(refused)\n"
    words += "print(getrusage(RUSAGE_CHILDREN).ru_maxrss, getrusage(RUSAGE_SELF).ru_maxrss)"
    command = [sys.executable, "-c", words, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said, peaks = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
    assert f"{folder}: git: " in said
    assert max(map(int, peaks.split())) < 1100 << 10


def test_an_error_does_not_show_where_a_link_leads(tmp_path):
    folder = a_repository(tmp_path / "in")
    (tmp_path / "mine").write_text("secret" * 1000)
    (folder / ".git/commondir").symlink_to("../../mine")
    with pytest.raises(Problem, match="name too long") as refused:
        find_files(folder, print)
    assert "secret" not in str(refused.value)


def test_what_is_gone_meanwhile_does_not_turn_the_rules_off(tmp_path, monkeypatch):
    folder = a_repository(tmp_path / "in")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(Problem, match="No such file"):
        find_files(folder, print)


def test_a_file_larger_than_memory_is_refused_unread(tmp_path):
    folder = write(tmp_path / "in", "train.py")
    rules_of(2 << 40)(folder, "model.bin")
    with pytest.raises(Problem, match=r"more than the 256 MiB .*; the largest: model.bin"):
        Parcel(folder, include=["*.bin"]).pack()


def test_a_git_of_2014_will_do(tmp_path, monkeypatch):
    folder = a_repository(tmp_path / "in")
    old = tmp_path / "bin/git"
    write(tmp_path, "bin/git")
    new = "*--object-format* | *--deduplicate*"
    old.write_text(
        f'#!/bin/sh\ncase "$*" in {new}) exit 129; esac\nexec {shutil.which("git")} "$@"\n'
    )
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    blob, staged = git(folder, "rev-parse", ":train.py"), []
    for stage in (1, 2, 3):  # as in a conflict, in which the index has a file three times
        staged.append(f"100644 {blob} {stage}\ttrain.py\n")
    git(folder, "rm", "--cached", "-q", "train.py")
    command = ["git", "-C", str(folder), "update-index", "--index-info"]
    subprocess.run(command, input="".join(staged), text=True, check=True)
    assert find_files(folder, print).count("train.py") == 1


def test_the_users_own_format_of_a_repository_is_not_taken(tmp_path, monkeypatch):
    folder = a_repository(tmp_path / "in")
    (tmp_path / ".gitconfig").write_text("[init]\n\tdefaultObjectFormat = sha256\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert {*SENT} <= {*find_files(folder, print)}


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(tmp_path):
    folder = write(tmp_path / "in", "train.py", "lib/x")
    write(tmp_path / "mine", "x", "deep/x")
    names = find_files(folder, print)
    shutil.rmtree(folder / "lib")
    (folder / "lib").symlink_to(tmp_path / "mine")
    with pytest.raises(Problem, match="cannot read 'lib/x'"):
        pack(folder, names, [])
    with pytest.raises(Problem, match="cannot read 'lib/deep/x'"):
        pack(folder, ["lib/deep/x"], [])


def test_folders_in_each_other_without_end_are_a_line(tmp_path):
    folder = write(tmp_path, "train.py")
    above = os.open(folder, os.O_RDONLY)
    for _ in range(2500):  # longer than a path
        os.mkdir("d", dir_fd=above)
        below = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    with pytest.raises(Problem, match=f"more than {MAX_DEPTH} folders"):
        find_files(folder, print)
    subprocess.run(["rm", "-r", str(folder / "d")], check=True)


def test_a_git_that_does_not_end_is_a_line(tmp_path, monkeypatch):
    folder = a_repository(tmp_path)
    (folder / "lib/.gitignore").unlink(missing_ok=True)
    os.mkfifo(folder / "lib/.gitignore")
    monkeypatch.setattr("pdj.code.git.SECONDS", 1.0)
    with pytest.raises(Problem, match=r"git: .*timed out"):
        find_files(folder, print)


@pytest.mark.parametrize("kept", [True, False], ids=["git", "no git"])
def test_names_of_every_kind_arrive_as_they_are_or_are_refused(kept, tmp_path):
    folder = a_repository(tmp_path / "in") if kept else tmp_path / "in"
    forms = [unicodedata.normalize(form, "é가Å") for form in ("NFC", "NFD")]
    write(folder, *forms, "a b", "-rf", "--config=x", "$(touch x)", "*", "x" * 255)
    os.link(folder / "a b", folder / "hard")
    found = find_files(folder, print)
    assert {*forms, "a b", "-rf", "--config=x", "$(touch x)", "*", "x" * 255, "hard"} <= {*found}
    assert pack(folder, found, []).sizes.keys() == {*found}
    write(folder, "/".join("d" * (MAX_DEPTH + 1)) + "/x")
    with pytest.raises(Problem, match=f"more than {MAX_DEPTH} folders"):
        find_files(folder, print)


@pytest.mark.skipif(not is_machine_root(), reason="only root makes devices")
@pytest.mark.parametrize("kept", [True, False], ids=["git", "no git"])
def test_devices_and_links_out_are_refused(kept, tmp_path):
    folder = a_repository(tmp_path / "in") if kept else write(tmp_path / "in", "train.py")
    for name, make in {
        "null": lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3)),
        "up": lambda path: path.symlink_to("../.."),
        "root": lambda path: path.symlink_to("/etc/passwd"),
    }.items():
        make(folder / name)
        try:
            names = find_files(folder, print)
            if name in names:  # git leaves devices out
                with pytest.raises(Problem, match=name):
                    pack(folder, names, [])
        finally:
            (folder / name).unlink()
