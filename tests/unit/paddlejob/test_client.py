"""The client without a cluster: what it costs to import, and what it says."""

import ast
import functools
import gzip
import inspect
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import paddlejob
from kube.errors import Forbidden
from localcluster.client.kubeconfig import write_kubeconfig
from paddlejob import Client, Job
from paddlejob.build import build_training, check, files_of, pack
from paddlejob.errors import translate
from paddlejob.functions import MAIN
from paddlejob.picture import draw
from pdj.errors import Problem, TimedOut
from pdj.facts.picture import JobPicture
from pdj.gather.jobs import NO_OPERATOR, NoOperator
from pdj.session import Screen
from tests.live.lab import paddle_job, shell
from tests.unit.pdj.cluster import JOBS, SERVED, Cluster, placed

CHECKOUT = Path(__file__).parents[3]
MOST_MODULES = 60
"""HTTP, TLS and YAML alone would be 90."""
EVIL = "<script>alert(1)</script>"


def fit(lr: float = 0.1) -> float:
    return lr


def given(function: Any = None, **words: Any) -> dict[str, Any]:
    """Arguments of `Client.train`, with its defaults."""
    of_train = inspect.signature(Client.train).parameters.values()
    defaults = {each.name: each.default for each in of_train}
    return check(Client.train, {**defaults, "function": function, "image": "paddle:3", **words})


def read_logs(job: Job, timeout: Any) -> list[str]:
    return list(job.logs(timeout=timeout))


def 训练() -> None: ...


def test_it_imports_little():
    program = "import sys; before = len(sys.modules); import paddlejob; "
    words = [sys.executable, "-c", f"{program}print(len(sys.modules) - before)"]
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < MOST_MODULES


def test_every_name_is_there():
    assert all(getattr(paddlejob, name).__doc__ for name in paddlejob.__all__)
    with pytest.raises(AttributeError):
        _ = paddlejob.nothing


def test_without_a_cluster(tmp_path):
    with pytest.raises(paddlejob.NoCluster, match="cannot read the kubeconfig"):
        Client(kubeconfig=tmp_path / "none").jobs()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    file = write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}", b"", "")
    with pytest.raises(paddlejob.NoCluster) as caught:
        Client(kubeconfig=file).train(fit, image="python")
    assert caught.value.__suppress_context__ and len(str(caught.value).splitlines()) == 1


def test_errors_keep_their_meaning():
    assert type(translate(NoOperator(NO_OPERATOR))) is paddlejob.NoOperator
    assert type(translate(Problem("anything else"))) is paddlejob.PaddleJobError


SHARED = ("access/*", "act/*", "code/*", "gather/*")
OF_THE_SHELL = re.compile(r"(^|\W)--?[a-z]|kubectl")


def test_no_error_of_the_tools_speaks_of_options():
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


def test_the_job_of_a_function():
    words = {"workers": 2, "resources": {"nvidia.com/gpu": 8}, "env": {"A": "1"}, "queue": "q"}
    job = build_training(given(fit, **words))
    spec = job["spec"]
    assert (job["metadata"]["name"], spec["worker"]["replicas"]) == ("fit", 2)
    assert spec["schedulingPolicy"] == {"queue": "q"}
    (container,) = spec["worker"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "-m", "paddle.distributed.launch", MAIN]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert container["env"] == [{"name": "A", "value": "1"}]


def test_the_same_call_sends_the_same_code(tmp_path):
    (tmp_path / "more.py").write_text("A = 1\r\n")
    one, two, other = (
        pack(given(code=tmp_path, requirements=["einops"]), files_of(fit, tmp_path, {"lr": lr}))
        for lr in (1, 1, 2)
    )
    assert one and two and other and one.digest == two.digest != other.digest
    assert one.requirements == b"einops\n"
    assert set(one.archive.sizes) == {"more.py", MAIN, "paddlejob_args.json"}
    assert b"A = 1\r\n" in gzip.decompress(one.archive.packed)
    (tmp_path / MAIN).write_text("")
    with pytest.raises(paddlejob.NotSendable, match=f"the file name '{MAIN}' is reserved"):
        Client(kubeconfig="/no/such/kubeconfig").train(fit, image="python", code=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"function": "fit:main"}, "code= must be the folder"),
        ({"function": fit, "code": "/no/such/folder"}, "no such folder"),
        (
            {"function": fit, "requirements": "einops"},
            "cannot read einops: .*: packages are a list",
        ),
        ({"function": fit, "env": {"A": None}}, "env: 'A' with None is not a variable"),
        ({"function": fit, "args": [1]}, r"args: \[1\] is not a mapping with texts as keys"),
        ({"function": fit, "args": {1: 2}}, "args: {1: 2} is not a mapping"),
        ({"function": fit, "env": ["A=1"]}, "env: .* is not a mapping"),
        ({"function": fit, "resources": "cpu=1"}, "resources: .* is not a mapping"),
        ({"function": fit, "workers": "2"}, "workers: '2' is not a whole number"),
        ({"function": fit, "workers": -1}, "workers: -1 is not a whole number from 0 on"),
        ({"function": fit, "ps": True}, "ps: True is not a whole number"),
        ({"function": fit, "backoff_limit": 1.5}, "backoff_limit: 1.5 is not a whole"),
        ({"function": fit, "launcher": 0}, "launcher: 0 is not True or False"),
        ({"function": fit, "name": 7}, "name: 7 is not text"),
        ({"function": fit, "name": "Not Valid"}, "^the name 'Not Valid' must be .* last$"),
        ({"function": fit, "image": ""}, "image: '' is not an image"),
        ({"function": fit, "queue": ["q"]}, "queue: .* is not text"),
        ({"function": fit, "code": 7}, "code: 7 is not text or a path"),
        ({"function": fit, "requirements": [1]}, "requirements: .* or a list of texts"),
        ({"function": fit, "include": 7}, "include: 7 is not text or a list of texts"),
        ({"function": None, "args": {"lr": 1}}, "args= needs a function"),
        ({"function": functools.partial(fit, 1)}, "is a partial"),
        ({"function": Screen()}, "is not text or a function"),
        ({"function": "fit", "code": "."}, "'fit' is not module:function"),
        ({"function": fit, "resources": {"cpu": "many"}}, "resources: cpu: 'many' "),
        ({"function": fit, "workers": 0}, "a job without workers trains nothing: workers=1"),
        ({"function": fit, "env": {"": "x"}}, "a variable is NAME=VALUE, not '=x'"),
        ({"function": fit, "code": ".", "include": ["!a"]}, "include: '!a': neither"),
        ({"function": fit, "include": ["*.bin"]}, "include: only with code"),
        ({"function": fit, "index_url": "https://x"}, "an index: only with code and requirements"),
        ({"function": 训练}, "no job name can be made from '训练': pass name="),
    ],
)
def test_what_cannot_be_meant_is_refused(words, said):
    with pytest.raises(paddlejob.NotSendable, match=said):
        Client(kubeconfig="/no/such/kubeconfig").train(**{"image": "python", **words})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"namespace": 7}, "namespace: 7 is not text"),
        ({"kubeconfig": 7}, "kubeconfig: 7 is not text or a path"),
        ({"context": True}, "context: True is not text"),
        ({"local": 1}, "local: 1 is not True or False"),
        ({"local": True, "nodes": "2"}, "nodes: '2' is not a whole number"),
    ],
)
def test_a_client_says_which_argument_is_of_another_kind(words, said):
    with pytest.raises(paddlejob.NotSendable, match=said):
        Client(**words)


def test_a_local_cluster_without_nodes_is_not_the_users_cluster(mocker):
    run_host = mocker.patch("pdj.act.host.run_host")
    run_host.return_value.__enter__.return_value = None, {"kubeconfig": "/local"}
    Client(local=True, nodes=0)
    assert run_host.call_args[0][1]["nodes"] == 0


@pytest.mark.parametrize(
    "words", [{"requirements": ["einops"]}, {"index_url": "https://x"}, {"include": ["*.bin"]}]
)
def test_submit_refuses_what_has_no_effect_alone(words):
    job = paddle_job("one", {"worker": (1, shell("true"))})
    with pytest.raises(paddlejob.NotSendable, match=": only with code"):
        Client(kubeconfig="/no/such/kubeconfig").submit(job, **words)


def test_a_picture_is_escaped():
    raw = paddle_job("one", {"worker": (1, shell("true"))})
    raw["metadata"] |= {"namespace": EVIL, "uid": "1"}
    raw["status"] = {"phase": "Failed", "reason": "PodFailed", "message": EVIL}
    pod = {"metadata": {"name": EVIL, "uid": "2", "labels": {}}, "spec": {"nodeName": EVIL}}
    pod["status"] = {"phase": "Failed", "reason": EVIL}
    shown = draw(JobPicture(raw, (pod,), EVIL), None)
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 6


@pytest.mark.parametrize(
    ("call", "timeout"),
    [
        *((each, "x") for each in (Job.wait, Job.watch, Job.delete, read_logs)),
        *((Job.wait, each) for each in (-1, float("nan"), True)),
    ],
)
def test_a_timeout_is_a_number(call, timeout):
    job = Job(Client("default", kubeconfig="/no/such/kubeconfig"), placed())
    with pytest.raises(paddlejob.NotSendable, match=f"timeout: {timeout!r} is not a number from 0"):
        call(job, timeout=timeout)


class Full(Cluster):
    """A cluster that admits no further job."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error: BaseException | None = error

    def _write(self) -> None:
        if self.error and not self.objects.keys() - SERVED:
            raise self.error

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Forbidden("exceeded quota: none"), paddlejob.QuotaExceeded),
        (TimedOut("late"), paddlejob.NotInTime),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["refused", "late", "interrupted"],
)
def test_an_ended_job_that_is_not_created_again_can_be_submitted(
    error, kind, monkeypatch, tmp_path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("pdj.act.submit.wait_until_gone", lambda *_: None)
    cluster, raw = Full(error), placed(uid="1") | {"status": {"phase": "Failed"}}
    cluster.objects[f"{JOBS}/mine"] = raw
    client = Client("default")
    client.__dict__["api"] = cluster
    with client, pytest.raises(kind) as caught:
        Job(client, raw).restart()
    assert cluster.objects == SERVED
    (file,) = tmp_path.iterdir()
    assert str(file) in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    cluster.error = None
    client.submit(file)
    assert cluster.get(f"{JOBS}/mine")["spec"] == raw["spec"]
