"""The command line: usage, exit codes, completion, and what is imported for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pdj.__main__ import run
from pdj.commands import COMMANDS
from pdj.completion import complete
from pdj.main import BUG, build_parser, load_command, main
from tests.live.pdj import CHECKOUT, environment, run_pdj
from tests.memory.builders import a_job, a_template

HEAVY = (
    "kubernetes",
    "google.protobuf",
    "prometheus_client",
    "structlog",
    "yaml.cyaml",
    "reconcile",
)
LOCAL = ("run", "--local", "/no/such/job.yaml")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_tells_how_it_is_used(name):
    assert f"kubectl pdj {name}" in build_parser(name, load_command(name)).format_help()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, ""),
        (["nonsense"], 2, "no command 'nonsense'"),
        (["status"], 2, "required"),
        (["list", "--nonsense"], 2, "unrecognized"),
        (["lint", "/no/such/file"], 2, "No such file"),
        (["lint", "-", "--silence", "nonsense"], 2, "there is no advice"),
        (["run", "busybox", "--workers", "x"], 2, "not a whole number"),
        (["list"], 1, "no cluster"),
        (["status", "x", "--timeout", "nan"], 2, "not a number of seconds"),
        (["run", "busybox", "--workers", "-1"], 2, "not a whole number, 0 or more: -1"),
        (["run", "busybox", "--program", "x=."], 2, "--program: these options need"),
        (["run", "busybox", "--requirements", "x"], 2, "--requirements: these options need"),
        (["run", "x", "--code", ".", "--program", "x=."], 2, "--program: these options need"),
        (["run", "x", "--include", "x"], 2, "include: only with code"),
        (["run", "x", "--code", "/no/such"], 2, "no such folder"),
        (["delete"], 2, "or --orphans"),
        (["run", "busybox", "--limits", "cpu=1,memory=8GB"], 2, "'8GB' is not a quantity"),
        (["suspend", "x", "--timeout", "5"], 2, "--timeout needs --wait"),
        (["status", "x", "--timeout", "5"], 2, "--timeout needs --watch"),
        (["logs", "x", "--timeout", "5"], 2, "--timeout needs --follow"),
        (["run", "x", "--timeout", "5"], 2, "--timeout needs --wait or --local"),
        (["suspend", "a", "--wait", "b", "--timeout", "5"], 1, "no cluster"),
        (["lint", "/no/such", "--strict", "/no/file"], 2, "cannot read /no/such"),
        (["delete", ""], 2, "not the name of a job: ''"),
        (["status", ".."], 2, "not the name of a job"),
        (["logs", "pods/x"], 2, "not the name of a job"),
        (["status", "x", "--watch", "-o", "json"], 2, "--output cannot be used"),
        (["delete", "x", "--", "y"], 2, "only run takes a program's words after --"),
        (["status", "paddlejobs.batch.paddlepaddle.org/x"], 1, "no cluster"),
        (["--kubeconfig", "/no/such", "list"], 1, "cannot read the kubeconfig"),
        (["--context", "x", *LOCAL, "--ps", "1"], 2, "error: --ps, --context: --local runs"),
        *(
            ([*LOCAL, *words.split()], 2, f"error: {words.split()[0]}: --local runs the job of its")
            for words in (
                *("--name x", "--workers 1", "--ps 0", "--env A=b", "--limits cpu=1"),
                *("--requests cpu=1", "--backoff-limit 0", "--intranet PodIP", "--dry-run client"),
                *("--clean-pod-policy Never", "--output yaml", "--context x", "--kubeconfig x"),
            )
        ),
    ],
    ids=str,
)
def test_exit_codes(words, code, says, monkeypatch, capsys):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(words))
    assert ended.value.code == code
    notes = capsys.readouterr().err
    assert says in notes
    assert BUG not in notes


def test_ctrl_c_may_come_while_modules_are_imported(monkeypatch):
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "pdj.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "pdj.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 130


@pytest.mark.parametrize("command", ["submit", "lint", "render", "convert"])
def test_files_are_named_as_for_kubectl_too(command, tmp_path):
    (tmp_path / "one.yaml").write_text("kind: One")
    words = [command, "-f", str(tmp_path / "one.yaml"), "/no/such", "--filename", "/no/file"]
    done = run_pdj(*words, kubeconfig="/nowhere")
    assert done.code == 2
    assert done.notes.endswith("error: cannot read /no/file: No such file or directory\n")
    done = run_pdj(command, kubeconfig="/nowhere")
    assert (done.code, done.notes) == (2, "error: a FILE is required; - is standard input\n")


def test_several_files_are_rendered_and_converted(tmp_path):
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for file in files:
        job = {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": file.stem}}
        file.write_text(json.dumps({**job, "spec": {"template": a_template()}}))
    done = run_pdj("convert", *map(str, files), "-o", "json", kubeconfig="/nowhere")
    assert done.code == 0
    made = json.loads(done.out)
    assert [each["metadata"]["name"] for each in made["items"]] == ["a", "b"]
    children = run_pdj("render", "-f", "-", "-o", "json", stdin=done.out.encode())
    assert children.code == 0, children
    pods = [each for each in json.loads(children.out)["items"] if each["kind"] == "Pod"]
    assert [each["metadata"]["name"] for each in pods] == ["a-worker-0", "b-worker-0"]


@pytest.mark.parametrize(
    ("words", "beginning", "code", "says"),
    [
        (["lint"], "train-", 0, "no-resources"),
        (["render"], "train-", 0, "name: train-xxxxx-worker-0"),
        (["submit", "--dry-run=client", "-o", "name"], "train-", 0, "/train-\n"),
        (["submit", "--dry-run=client"], "train-", 0, "train- would be created"),
        *((["lint"], each, 1, "metadata.") for each in ("Train-", "1-", "-", "a" * 58)),
    ],
    ids=str,
)
def test_a_job_may_leave_its_name_to_the_api_server(words, beginning, code, says, tmp_path):
    job = a_job().with_workers(1).build()
    file = tmp_path / "job.json"
    file.write_text(json.dumps({**job, "metadata": {"generateName": beginning}}))
    done = run_pdj(*words, str(file), kubeconfig="/nowhere")
    assert (done.code, says in done.out) == (code, True), done


def test_nothing_heavy_is_imported_for_a_status():
    script = (
        "import sys, pdj.main, pdj.commands.status, kube.client, pdj.access.connection\n"
        "print(*sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, env=environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert not set(HEAVY) & set(told.stdout.split())


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        (["explain", "x", "--lang", ""], (["en", "zh"], 4)),
        (["list", "-o", "j"], (["json"], 4)),
        (["logs", "x", "--role", "w"], (["worker"], 4)),
        (["completion", ""], (["bash", "zsh", "fish"], 4)),
        (["list", "-n", "x"], ([], 4)),
        (["-n", "s"], ([], 4)),
        (["status", "--kubeconfig", "x"], ([], 0)),
        (["run", "--local", "x"], ([], 0)),
        (["list", ""], ([], 4)),
        (["su"], (["submit", "suspend"], 4)),
        (["logs", "x", "--fo"], (["--follow"], 4)),
        (["lint", ""], ([], 0)),
        (["run", "image", "--", "python", "tr"], ([], 0)),
        (["status", ""], ([], 4)),  # without a cluster
    ],
    ids=str,
)
def test_completion_of_commands_options_and_what_they_take(words, candidates, capsys, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert complete(words) == candidates
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("closed", "words", "code", "says"),
    [
        (">&-", "completion bash", 0, ""),
        ("2>&-", "lint /no/such", 2, ""),
        ("<&-", "lint -", 2, "error: "),
        ("<&- >&- 2>&-", "list", 1, ""),
        (">/dev/full", "completion bash", 1, "error: No space left on device\n"),
    ],
)
def test_streams_may_be_closed_or_full(closed, words, code, says):
    line = f'"{sys.executable}" -m pdj {words} {closed}'
    done = subprocess.run(
        ["sh", "-c", line], env=environment("/no/where"), capture_output=True, text=True
    )
    assert (done.returncode, BUG in done.stderr) == (code, False)
    assert done.stderr.startswith(says) and len(done.stderr.splitlines()) == bool(says)


def test_a_bug_is_one_line_and_its_place_can_be_shown(monkeypatch, capsys):
    def fail(_session: object) -> int:
        raise ZeroDivisionError("by\nnought")

    monkeypatch.setattr("pdj.commands.version.run", fail)
    assert main(["version"]) == 1
    said = capsys.readouterr().err
    assert said == f"error: {BUG}: ZeroDivisionError: by nought (PDJ_DEBUG=1 shows where)\n"
    monkeypatch.setenv("PDJ_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["version"])


def test_convert_notes_what_works_elsewhere_alone(tmp_path: Path) -> None:
    script = "python -m paddle.distributed.launch --ips=$(cat /etc/volcano/worker.host) t.py"
    container = {"name": "a", "image": "train:1", "command": ["bash", "-c", script]}
    template = {"spec": {"hostNetwork": True, "containers": [container]}}
    task = {"name": "worker", "replicas": 2, "template": template}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    file = tmp_path / "job.json"
    file.write_text(json.dumps({**job, "spec": {"tasks": [task]}}))
    done = run_pdj("convert", str(file), kubeconfig="/nowhere")
    assert "check spec.worker.template.spec.hostNetwork: " in done.notes
    assert "/etc/volcano/worker.host is made by" in done.notes
    assert run_pdj("convert", "--strict", str(file), kubeconfig="/nowhere").code == 1
