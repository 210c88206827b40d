"""What `--code` sends, what it refuses, and the job that unpacks it."""

import base64
import contextlib
import copy
import gzip
import io
import itertools
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from api.objects import Raw
from kube.errors import AlreadyExists
from paddlejob import Client
from pdj.code import unpack as unpacking
from pdj.code.archive import MAX_CODE_BYTES, Archive, pack
from pdj.code.bundle import ARCHIVE, CODE, FIND_PYTHON, PACKAGES, Bundle
from pdj.code.folder import MAX_FILES, find_files
from pdj.code.ignore import parse_pattern
from pdj.code.store import code_of, config_map_names, find_orphans, held, sent, settle
from pdj.commands import backup
from pdj.commands.code import describe
from pdj.errors import Problem, Usage
from pdj.main import main
from tests.live.networks import is_machine_root
from tests.live.wheel import write_wheel
from tests.memory.builders import a_job
from tests.unit.pdj.cluster import JOBS, Cluster, placed

BIG = 1 << 20


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True)


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\r\n")
    return folder


def packed(folder: Path, *includes: str) -> Archive:
    patterns = [parse_pattern(each, "include") for each in includes]
    return pack(folder, find_files(folder, print), patterns)


def refusal(folder: Path, *includes: str) -> str:
    with pytest.raises(Problem) as refused:
        packed(folder, *includes)
    return str(refused.value)


@pytest.mark.parametrize("is_kept", [True, False], ids=["git", "no git"])
def test_ignored_files_stay_at_home(tmp_path, is_kept):
    write(tmp_path, "train.py", "lib/a.py", "lib/__pycache__/a.pyc", "runs/1/x", "data/a.csv")
    write(tmp_path, "deep/data/a.csv", "x.log", "deep/x.log", "gone.py")
    (tmp_path / ".pdjignore").write_text("\ufeffruns/\n# large\n\n/data/*.csv\n*.log\n")
    names = [".pdjignore", "deep/data/a.csv", "lib/a.py", "train.py"]
    if is_kept:
        git(tmp_path, "init")
        git(tmp_path, "add", "gone.py")
        write(tmp_path, ".env", "built.o")
        (tmp_path / ".gitignore").write_text(".env\n*.o\n")
        names.insert(0, ".gitignore")
    (tmp_path / "gone.py").unlink()
    assert find_files(tmp_path, print) == names


def test_the_same_files_are_the_same_bytes(tmp_path):
    folders = [write(tmp_path / each, "b.py", "a/c.sh") for each in ("one", "two")]
    for at, folder in enumerate(folders):
        (folder / "a/c.sh").chmod(0o700 if at else 0o755)
        os.utime(folder / "b.py", (at, at))
        (folder / "link").symlink_to("b.py")
    first, second = map(packed, folders)
    assert first.packed == second.packed
    unpacking.unpack(io.BytesIO(first.packed), str(tmp_path / "out"))
    assert (tmp_path / "out/a/c.sh").read_bytes() == b"a/c.sh\r\n"
    assert os.access(tmp_path / "out/a/c.sh", os.X_OK)
    assert (tmp_path / "out/link").readlink() == Path("b.py")
    (folders[0] / "b.py").write_text("another")
    assert Bundle(packed(folders[0])).digest != Bundle(second).digest


@pytest.mark.parametrize("name", [".env", "a/.env.local", "k.PEM", "id_rsa", "a/.git/config"])
def test_secrets_are_refused_by_name(name, tmp_path):
    said = refusal(write(tmp_path, "train.py", name))
    assert name.removesuffix("/config") in said
    assert "never sent" in said


def test_a_repository_that_is_none_leaves_the_rules_of_the_files(tmp_path):
    write(tmp_path, "train.py", ".git")
    (tmp_path / ".gitignore").write_text("*.o\n")
    write(tmp_path, "a.o")
    assert find_files(tmp_path, print) == [".gitignore", "train.py"]


def test_odd_files_are_refused_by_name(tmp_path):
    for at, (name, says) in enumerate(
        {"out": "a link out", "root": "a link out", "pipe": "a pipe", "sock": "a pipe",
         "null": "a device",
         "two\nlines": "two\\nlines", os.fsdecode(b"\xff"): "udcff"}.items()
    ):  # fmt: skip
        path = write(tmp_path / str(at), "train.py") / name
        if name == "out":
            path.symlink_to("../elsewhere")
        elif name == "root":
            path.symlink_to("/etc/passwd")
        elif name == "null" and is_machine_root():
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        elif name in ("pipe", "null"):
            os.mkfifo(path)
        elif name == "sock":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
        else:
            path.touch()
        assert says in refusal(path.parent)


def test_a_file_that_is_gone_and_a_link_to_itself(tmp_path):
    with pytest.raises(Problem, match=r"cannot read 'gone.py'"):
        pack(tmp_path, ["gone.py"], [])
    (tmp_path / "loop").symlink_to("loop")
    with contextlib.suppress(Problem):  # a Python since 3.13 sends it as it is
        pack(tmp_path, ["loop"], [])


def test_a_repository_in_the_folder_is_named(tmp_path):
    write(tmp_path, "train.py", "other/x")
    git(tmp_path, "init")
    git(tmp_path / "other", "init")
    git(tmp_path / "other", "add", "x")
    git(tmp_path / "other", "commit", "-m", "x")
    assert "'other/' is a git repository of its own" in refusal(tmp_path)


@pytest.mark.parametrize(("target", "ignored"), [("e", ""), ("../outside", "/d\n")])
def test_a_folder_that_has_become_a_link_is_sent_as_one_or_not_at_all(target, ignored, tmp_path):
    """To git, the files of that name are still there: those behind the link."""
    folder = write(tmp_path / "in", "d/a/x", "e/a/x")
    write(tmp_path / "outside", "a/x")
    git(folder, "init")
    git(folder, "add", ".")
    shutil.rmtree(folder / "d")
    (folder / "d").symlink_to(target)
    (folder / ".gitignore").write_text(ignored)
    names = find_files(folder, print)
    assert names == [".gitignore", *([] if ignored else ["d"]), "e/a/x"]


def test_too_many_and_empty(tmp_path, monkeypatch):
    assert "every file in it is ignored" in refusal(tmp_path)
    monkeypatch.setattr("pdj.code.folder.MAX_FILES", 3)
    assert "more than 3 files" in refusal(write(tmp_path, *"abcd"))


def test_a_file_that_changes_while_it_is_packed(tmp_path, monkeypatch):
    file = write(tmp_path, "train.py") / "train.py"
    opened = os.open

    def open_changed(path: Any, *arguments: Any, **more: Any) -> int:
        file.write_text("somebody saves another text")
        return opened(path, *arguments, **more)

    monkeypatch.setattr("pdj.code.archive.os.open", open_changed)
    assert "has changed while" in refusal(tmp_path)


def test_900_kib_go_through_and_901_do_not(tmp_path):
    sizes = {"a": 300, "b": 200, "c": 150, "d": 130, "e": 100, "f": 20}
    for name, kib in sizes.items():
        (tmp_path / name).write_bytes(os.urandom(kib << 10))
    packed(tmp_path)
    (tmp_path / "f").write_bytes(os.urandom(21 << 10))
    said = refusal(tmp_path)
    assert "a (300 KiB), b (200 KiB), c (150 KiB), d (130 KiB), e (100 KiB). " in said
    assert "volume" in said and "image" in said


def test_large_files_are_sent_where_they_are_named(tmp_path):
    (tmp_path / "big.txt").write_bytes(b"x" * (BIG + 1))
    with pytest.raises(Problem) as refused:
        packed(tmp_path)
    assert "--include big.txt" in refused.value.for_shell
    assert "--" not in f"{refused.value} {refused.value.by_argument}"
    assert packed(tmp_path, "*.txt").sizes == {"big.txt": BIG + 1}


def archive_of(*members: tuple[str, str]) -> io.BytesIO:
    """An archive of these names; those with a target are links."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = (tarfile.SYMTYPE, target) if target else (b"0", "")
            archive.addfile(info)
    made.seek(0)
    return made


@pytest.fixture(params=[True, False], ids=["filters", "no filters"])
def filters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python whose tarfile has filters, and one before."""
    if not request.param:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)  # Debian 12 has none


DEEP = "d" * 247
"""A real path grows to more than a system takes, and a link's own stays short (CVE-2025-4517)."""


@pytest.mark.parametrize(
    "links",
    [
        *([each] for each in (("../x", ""), ("/x", ""), ("a/b", "../../x"), ("l", "/etc"))),
        [("s", "."), ("t", "s/.."), ("./t/x", "")],
        [("s", "."), ("t", "s/../x"), ("t", "")],
        [("s", "."), ("t/../x", "")],
        [*((f"{f'{DEEP}/' * at}{at:x}", DEEP) for at in range(16)),
         (f"{'/'.join(map('{:x}'.format, range(16)))}/{'l' * 254}", "../" * 16),
         ("t", f"{'/'.join(map('{:x}'.format, range(16)))}/{'l' * 254}/.."), ("t/x", "")],
    ],
    ids=["up", "root", "link up", "link to root", "dot", "twice", "back", "long"],
)  # fmt: skip
@pytest.mark.usefixtures("filters")
def test_no_archive_leads_out_of_the_folder(links, tmp_path):
    with pytest.raises(tarfile.TarError, match="leads out"):
        unpacking.unpack(archive_of(*links), str(tmp_path / "in"))
    assert not (tmp_path / "x").exists()


def test_many_long_names_and_one_link_are_checked():
    """They fit in 150 KiB; each name has 2,000 folders, any of which may be the link."""
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "x"
    unpacking.check([link, *(tarfile.TarInfo("a/" * 1990 + str(at)) for at in range(MAX_FILES))])


def test_a_link_that_turns_back_is_sent_as_it_leads(tmp_path):
    write(tmp_path / "in", "a/b", "c")
    (tmp_path / "in/a/link").symlink_to("../a/../c")
    unpacking.unpack(io.BytesIO(packed(tmp_path / "in").packed), str(tmp_path / "out"))
    assert (tmp_path / "out/a/link").readlink() == Path("../c")


def test_pip_installs_beside_the_code_and_says_what_it_cannot(tmp_path, capfd, monkeypatch):
    wheel, target = write_wheel(tmp_path), tmp_path / "packages"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "good.txt").write_text(f"./{wheel.name}\n")
    unpacking.install("good.txt", str(target), str(tmp_path))
    assert {"demo.py", ".tmp"} & {each.name for each in target.iterdir()} == {"demo.py"}
    (tmp_path / "bad.txt").write_text("nowhere-to-be-found\n")
    with pytest.raises(SystemExit, match=r"could not install bad.txt: .*nowhere-to-be-found"):
        unpacking.install("bad.txt", str(target), str(tmp_path))


@pytest.fixture
def archive(tmp_path: Path) -> str:
    """A file of code that is to be unpacked to `out`."""
    file = tmp_path / "code.tar.gz"
    file.write_bytes(packed(write(tmp_path / "program", "train.py")).packed)
    return str(file)


def test_an_image_without_pip_says_so(archive, tmp_path):
    words = (archive, str(tmp_path / "out"), "requirements.txt", str(tmp_path / "packages"))
    done = subprocess.run(
        [sys.executable, "-S", unpacking.__file__, *words],
        env={"PYTHONPATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (tmp_path / "out/train.py").exists()
    assert (done.returncode, done.stderr) == (1, f"error: {unpacking.NO_PIP}\n")


def test_an_image_whose_python_has_another_name(archive, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(sys.executable)
    words = ["/bin/sh", "-c", FIND_PYTHON, unpacking.__file__, archive, str(tmp_path / "out")]
    subprocess.run(words, env={"PATH": str(tmp_path / "bin")}, check=True)
    assert (tmp_path / "out/train.py").exists()


def a_header(size: int, kind: bytes) -> bytes:
    """Of a file or a long name of so many letters, which follow."""
    info = tarfile.TarInfo("x")
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def a_large_one(size: int, kind: bytes) -> bytes:
    """An archive with 8 MiB behind this header."""
    return gzip.compress(a_header(size, kind) + b"a" * (8 << 20) + a_header(0, tarfile.REGTYPE))


LONG, ODD = "a header of more than 4 KiB", "neither a file nor a link"
NAME = a_header(1, tarfile.GNUTYPE_LONGNAME) + b"a".ljust(512, b"\0")
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a million files": (
        lambda: archive_of(*((str(at), "") for at in range(MAX_FILES + 1))).read(),
        "has more than 10000 files",
    ),
    "name": (lambda: a_large_one(8 << 20, tarfile.GNUTYPE_LONGNAME), LONG),
    "pax": (lambda: a_large_one(8 << 20, tarfile.XHDTYPE), ODD),
    "gigabytes": (
        lambda: a_large_one(MAX_CODE_BYTES + 1, tarfile.REGTYPE),
        "unpacks to more than 256",
    ),
    "names of names": (lambda: gzip.compress(NAME * 3000), "is damaged"),
    "damaged": (lambda: archive_of(("x", "")).read()[:30], "is damaged"),
}
"""Anybody may have written the ConfigMap that `debug` lists."""


@pytest.mark.parametrize(("archive", "says"), HOSTILE.values(), ids=HOSTILE)
def test_code_that_cannot_be_listed_is_one_line(archive, says, tmp_path):
    made = a_bundle(tmp_path).config_map(placed())
    made["binaryData"][ARCHIVE] = base64.b64encode(archive()).decode()
    with pytest.raises(Problem, match=says):
        describe(made)


def a_bundle(tmp_path: Path, requirements: bytes | None = None) -> Bundle:
    return Bundle(packed(write(tmp_path / "program", "train.py")), requirements, "", "")


def test_every_trainer_unpacks_with_its_own_image_and_rights(tmp_path):
    job = a_job("mine").with_ps(1).with_workers(2).build()
    rights = {"runAsNonRoot": True, "allowPrivilegeEscalation": False}
    trainer = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    trainer |= {"securityContext": rights, "image": "mine:1", "command": ["python3.10", "x"]}
    trainer["resources"] = {"limits": {"nvidia.com/gpu": 8, "memory": "1Gi"}}
    trainer["env"] = [
        {"name": "PYTHONPATH", "value": "/lib"},
        {"name": "https_proxy", "value": "p"},
    ]
    before = copy.deepcopy(job)
    bundle = a_bundle(tmp_path, b"einops\n")
    made = bundle.attach(job)
    assert job == before
    assert bundle.attach(made) == made
    assert config_map_names(made) == {bundle.config_map_name(job)}
    for role in ("ps", "worker"):
        pod = made["spec"][role]["template"]["spec"]
        assert [each["name"] for each in pod["initContainers"]] == [CODE]
        assert pod["containers"][0]["workingDir"] == "/workspace"
    (init,), (main,) = pod["initContainers"], pod["containers"]
    assert (init["image"], init["securityContext"], init["command"][0]) == (
        "mine:1", rights, "python3.10",
    )  # fmt: skip
    assert init["resources"] == {"limits": {"memory": "1Gi"}}
    assert init["env"] == [{"name": "https_proxy", "value": "p"}]
    assert {"name": "PYTHONPATH", "value": f"{PACKAGES}:/lib"} in main["env"]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("workingDir", "/app", "workingDir /app"),
        ("volumeMounts", [{"name": "x", "mountPath": "/workspace"}], "a volume at /workspace"),
        ("env", "nonsense", "no pod template to which"),
    ],
)
def test_a_template_that_takes_no_code_is_refused(field, value, says, tmp_path):
    job = a_job("mine").with_workers(1).build()
    job["spec"]["worker"]["template"]["spec"]["containers"][0][field] = value
    with pytest.raises(Problem, match=says):
        a_bundle(tmp_path, b"x").attach(job)


@pytest.mark.parametrize("name", ["Not Valid", "", None, 7])
def test_code_needs_a_job_with_a_valid_name(name, tmp_path):
    with pytest.raises(
        Usage, match=r"^code needs a job with metadata.name, which must be .* last$"
    ):
        a_bundle(tmp_path, b"x").attach({"metadata": {"name": name}, "spec": {}})


MAPS = "/api/v1/namespaces/default/configmaps"


def maps(cluster: Cluster) -> list[Raw]:
    return cluster.list(MAPS)[0]


def owners(cluster: Cluster) -> list[str]:
    return [each["uid"] for o in maps(cluster) for each in o["metadata"]["ownerReferences"]]


def submit(cluster: Cluster, bundle: Bundle, job: Raw) -> None:
    with sent(cluster, bundle.config_map(job), print):
        cluster.create(JOBS, bundle.attach(job))


@pytest.mark.parametrize("writes", range(4))
def test_a_kill_after_any_write_is_mended(writes, tmp_path):
    bundle, job = a_bundle(tmp_path), placed()
    killed = Cluster(writes)
    try:
        submit(killed, bundle, job)
    except KeyboardInterrupt:
        assert writes < 3
    again = Cluster()
    again.objects, again.uids = copy.deepcopy(killed.objects), itertools.count(10)
    try:
        submit(again, bundle, job)
    except AlreadyExists:
        assert writes > 1
    assert owners(again) == [again.objects[f"{JOBS}/mine"]["metadata"]["uid"]]
    cleared = Cluster()
    cleared.objects = copy.deepcopy(killed.objects)
    cleared.objects.pop(f"{JOBS}/mine", None)
    for each in find_orphans(cleared, "default"):
        assert settle(cleared, each, print)
    assert not find_orphans(cleared, "default")


def test_code_whose_owner_is_gone_is_made_anew(tmp_path):
    bundle, job, cluster = a_bundle(tmp_path), placed(), Cluster()
    submit(cluster, bundle, job)
    (before,) = maps(cluster)
    cluster.objects.pop(f"{JOBS}/mine")  # the garbage collector is about to delete the ConfigMap
    submit(cluster, bundle, job)
    (after,) = maps(cluster)
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert owners(cluster) == [cluster.objects[f"{JOBS}/mine"]["metadata"]["uid"]]


def test_code_of_a_replaced_job_is_nobodys_meanwhile(tmp_path):
    bundle, job, cluster = a_bundle(tmp_path), placed(), Cluster()
    submit(cluster, bundle, job)
    with held(cluster, bundle.attach(job), print):
        assert owners(cluster) == []
        cluster.objects.pop(f"{JOBS}/mine")
        new = cluster.create(JOBS, bundle.attach(job))
    assert owners(cluster) == [new["metadata"]["uid"]]


EMPTY = base64.b64encode(gzip.compress(bytes(10_240))).decode()


@pytest.mark.parametrize(
    "change",
    [
        lambda forged: forged["metadata"].pop("labels"),
        lambda forged: forged["binaryData"].update({ARCHIVE: EMPTY}),
        lambda forged: forged["binaryData"].update(
            {ARCHIVE: f"{forged['binaryData'][ARCHIVE]}AAAA"}
        ),
        lambda forged: forged["data"].update({"tarfile.py": "print('evil')"}),
        lambda forged: forged.update(immutable=False),
    ],
    ids=[
        "of somebody else",
        "another archive",
        "more behind it",
        "a module beside",
        "can be changed later",
    ],
)
def test_code_that_only_says_that_it_is_ours_is_not_run(change, tmp_path):
    bundle, job, cluster = a_bundle(tmp_path), placed(), Cluster()
    forged = bundle.config_map(job)
    change(forged)
    there = cluster.create(MAPS, forged)
    with pytest.raises(Problem, match="belongs to something else"):
        submit(cluster, bundle, job)
    assert maps(cluster) == [there]
    if forged["immutable"] and "labels" in forged["metadata"]:
        assert bundle.digest not in describe(forged)[0]


def test_the_same_code_packed_by_another_zlib_is_taken(tmp_path):
    bundle, job, cluster = a_bundle(tmp_path), placed(), Cluster()
    there = bundle.config_map(job)
    again = gzip.compress(gzip.decompress(bundle.archive.packed), compresslevel=1)
    there["binaryData"][ARCHIVE] = base64.b64encode(again).decode()
    assert bundle.digest in describe(there)[0]
    cluster.create(MAPS, there)
    submit(cluster, bundle, job)
    assert len(maps(cluster)) == 1


@pytest.mark.parametrize("named", ["other", ""])
def test_a_job_that_names_another_config_map_as_its_code(named, tmp_path):
    """With it in a backup, `restore` would refuse the jobs of everybody."""
    cluster = Cluster()
    cluster.create(MAPS, {"kind": "ConfigMap", "metadata": {"name": "other"}})
    cluster.objects[f"{MAPS}/"] = {"kind": "ConfigMapList", "metadata": {}}
    job = a_bundle(tmp_path).attach(placed())
    volumes = job["spec"]["worker"]["template"]["spec"]["volumes"]
    next(each for each in volumes if each["name"] == CODE)["configMap"]["name"] = named
    assert backup._code_of(SimpleNamespace(client=cluster), job) == []  # type: ignore[arg-type]
    with pytest.raises(Problem, match=r"not the code of|without code"):
        code_of(cluster, job)


@pytest.mark.parametrize(
    ("word", "note"),
    [
        ("/program/train.py", "mine names /program/train.py, but what is sent lies in /workspace"),
        (
            "cd /tmp && python '/program/train.py'; exit 0",
            "mine names /program/train.py, but what is sent lies in /workspace",
        ),
        ("train.py", ""),
        ("/workspace/train.py", ""),
        ("/program/other.py", ""),
    ],
)
def test_a_program_beside_the_one_that_is_sent_is_named(word, note, tmp_path, capsys):
    write(tmp_path, "train.py")
    words = ["--name", "mine", "--dry-run=client", "--code", str(tmp_path), "--", "python", word]
    assert main(["run", "x:1", *words]) == 0
    assert capsys.readouterr().err.strip() == note


def test_python_is_warned_of_it_too(tmp_path, monkeypatch):
    write(tmp_path, "train.py")
    monkeypatch.setattr(Client, "api", Cluster())
    job = a_job().with_workers(1).build()
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = ["/program/train.py"]
    with pytest.warns(UserWarning, match="names /program/train.py, but what is sent lies in /work"):
        Client().submit(job, code=tmp_path)
