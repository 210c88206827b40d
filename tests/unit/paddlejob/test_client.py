"""The client without a cluster: what it costs to import, and what it says."""

import ast
import functools
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import paddlejob
from paddlejob import Client
from paddlejob.build import Code, Wish, files_of
from paddlejob.errors import translate
from paddlejob.functions import MAIN
from paddlejob.picture import draw
from pdj.errors import Problem
from pdj.gather.jobs import NO_OPERATOR, JobPicture, NoOperator
from pdj.text.terminal import Screen
from tests.live.lab import paddle_job, shell

CHECKOUT = Path(__file__).parents[3]
IMPORT_CPU_SECONDS = 0.15
EVIL = "<script>alert(1)</script>"


def fit(lr: float = 0.1) -> float:
    """Something to send."""
    return lr


def 训练() -> None:
    """A name that no job can have."""


def test_it_is_imported_soon() -> None:
    def seconds() -> float:
        program = "import time; before = time.process_time(); import paddlejob; "
        words = [sys.executable, "-c", f"{program}print(time.process_time() - before)"]
        done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True)
        return float(done.stdout)

    assert min(seconds() for _ in range(3)) < IMPORT_CPU_SECONDS


def test_every_name_is_there() -> None:
    assert all(getattr(paddlejob, name).__doc__ for name in paddlejob.__all__)
    with pytest.raises(AttributeError):
        _ = paddlejob.nothing


def test_without_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(paddlejob.NoCluster, match="cannot read the kubeconfig"):
        Client(kubeconfig=tmp_path / "none").jobs()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    there = {"cluster": {"server": f"http://127.0.0.1:{port}"}, "name": "c"}
    context = {"context": {"cluster": "c", "user": ""}, "name": "c"}
    file = tmp_path / "kubeconfig"
    raw = {"clusters": [there], "contexts": [context], "current-context": "c"}
    file.write_text(yaml.safe_dump(raw))
    with pytest.raises(paddlejob.NoCluster) as caught:
        Client(kubeconfig=file).train(fit, image="python")
    assert caught.value.__suppress_context__ and len(str(caught.value).splitlines()) == 1


def test_errors_keep_their_meaning() -> None:
    assert type(translate(NoOperator(NO_OPERATOR))) is paddlejob.NoOperator
    assert type(translate(Problem("anything else"))) is paddlejob.PaddleJobError


SHARED = ("access/*", "code/*", "gather/*", "actions", "commands/logs", "commands/restart")
OF_THE_SHELL = re.compile(r"(^|\W)--?[a-z]|kubectl")


def test_no_error_of_the_tools_speaks_of_options() -> None:
    """What the client shares with the command line says on its own what helps in a shell."""
    files = [each for name in SHARED for each in (CHECKOUT / "pdj").glob(f"{name}.py")]
    raised = [
        node
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Problem", "Usage", "NoLogs")
    ]
    assert len(raised) > 20
    said = [ast.unparse(part) for node in raised for part in (node.args[:1] + node.args[2:])]
    assert not [each for each in said if OF_THE_SHELL.search(each)]


def test_the_job_of_a_function() -> None:
    wish = Wish("paddle:3", workers=2, resources={"nvidia.com/gpu": 8}, env={"A": "1"}, queue="q")
    job = wish.job(fit)
    spec = job["spec"]
    assert (job["metadata"]["name"], spec["worker"]["replicas"]) == ("fit", 2)
    assert spec["schedulingPolicy"] == {"queue": "q"}
    (container,) = spec["worker"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "-m", "paddle.distributed.launch", MAIN]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert container["env"] == [{"name": "A", "value": "1"}]
    with pytest.raises(paddlejob.NotSendable, match="worker: -1 is not a number of pods"):
        Wish("paddle:3", workers=-1).job(fit)


def test_a_function_whose_name_no_job_can_have_needs_another() -> None:
    def 训练() -> None: ...

    assert Wish("paddle:3", "train").job(训练)["metadata"]["name"] == "train"
    with pytest.raises(Problem, match="no job name can be made from '训练'"):
        Wish("paddle:3").job(训练)


def test_the_same_call_sends_the_same_code(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("A = 1\r\n")
    one, two, other = (
        Code(tmp_path, ["einops"]).pack(files_of(fit, tmp_path, {"lr": lr})) for lr in (1, 1, 2)
    )
    assert one and two and other and one.digest == two.digest != other.digest
    assert one.requirements == b"einops\n"
    assert set(one.archive.sizes) == {"more.py", MAIN, "paddlejob_args.json"}
    assert b"A = 1\r\n" in one.archive.plain
    (tmp_path / MAIN).write_text("")
    with pytest.raises(paddlejob.NotSendable, match=f"the file name '{MAIN}' is reserved"):
        Client(kubeconfig="/no/such/kubeconfig").train(fit, image="python", code=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"function": "fit:main"}, "code= names the folder"),
        ({"function": fit, "wrokers": 1}, "unexpected keyword argument 'wrokers'"),
        ({"function": fit, "code": "/no/such/folder"}, "no such folder"),
        ({"function": fit, "requirements": "/no/such/file"}, "cannot read /no/such/file"),
        ({"function": fit, "args": [1]}, "args"),
        ({"function": functools.partial(fit, 1)}, "is a partial"),
        ({"function": Screen()}, "is an object that can be called"),
        ({"function": None}, "is an object that can be called"),
        ({"function": "fit", "code": "."}, "'fit' is not module:function"),
        ({"function": fit, "resources": {"cpu": "many"}}, "resources: cpu: 'many' "),
        ({"function": fit, "workers": 0}, "a job without workers trains nothing: workers=1"),
        ({"function": fit, "env": {"": "x"}}, "a variable is NAME=VALUE, not '=x'"),
        ({"function": fit, "code": ".", "include": ["!a"]}, "include: '!a': neither"),
        ({"function": fit, "include": ["*.bin"]}, "include= needs code="),
        ({"function": fit, "index_url": "https://x"}, "index_url= needs requirements="),
        ({"function": 训练}, "no job name can be made from '训练': pass name="),
    ],
)
def test_what_cannot_be_meant_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(paddlejob.NotSendable, match=said):
        Client(kubeconfig="/no/such/kubeconfig").train(image="python", **words)


@pytest.mark.parametrize(
    "words", [{"requirements": ["einops"]}, {"index_url": "https://x"}, {"include": ["*.bin"]}]
)
def test_submit_refuses_what_has_no_effect_alone(words: dict[str, Any]) -> None:
    job = paddle_job("one", {"worker": (1, shell("true"))})
    with pytest.raises(paddlejob.NotSendable, match=f"{next(iter(words))}= needs"):
        Client(kubeconfig="/no/such/kubeconfig").submit(job, **words)


def test_a_folder_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PASSWORD=1\n")
    with pytest.raises(paddlejob.NotSendable, match=r"'.env': may be a secret"):
        Client(kubeconfig="/no/such/kubeconfig").train(fit, image="python", code=tmp_path)


def test_a_picture_is_escaped() -> None:
    raw = paddle_job("one", {"worker": (1, shell("true"))})
    raw["metadata"] |= {"namespace": EVIL, "uid": "1"}
    raw["status"] = {"phase": "Failed", "reason": "PodFailed", "message": EVIL}
    pod = {"metadata": {"name": EVIL, "uid": "2", "labels": {}}, "spec": {"nodeName": EVIL}}
    pod["status"] = {"phase": "Failed", "reason": EVIL}
    shown = draw(JobPicture(raw, (pod,), EVIL), None)
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 6


def test_packages_go_alone() -> None:
    bundle = Code(requirements=["einops", "numpy"]).pack({})
    assert bundle and bundle.requirements == b"einops\nnumpy\n"
