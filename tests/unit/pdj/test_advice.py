"""Advice of `lint`: each rule finds what it is for, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pdj.documents.advice import find_advice
from pdj.documents.checks import find_errors, is_job
from pdj.documents.launch import LAUNCHERS
from pdj.documents.reader import Document, read_documents
from tests.memory.builders import JobBuilder, a_job, a_template

Raw = dict[str, Any]
CHECKOUT = Path(__file__).parents[3]
OF_STYLE = frozenset({"no-resources", "image-tag", "no-checkpoint"})
"""What examples leave out to be short."""
LAUNCH = ["python", "-m", LAUNCHERS[0]]
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
DATA = {"name": "data", "mountPath": "/data"}
SHM = {"name": "shm", "mountPath": "/dev/shm"}
GPUS = {"limits": {"nvidia.com/gpu": 8}}


def workers(replicas: int = 2, pod: Raw | None = None, **trainer: Any) -> JobBuilder:
    """A job whose trainers have these fields."""
    container = {"name": "paddle", "image": "train:1", **trainer}
    return a_job().with_workers(replicas, a_template(containers=[container], **pod or {}))


def rules_of(job: JobBuilder, folder: Path) -> set[str]:
    """The names of the advice, but for that about style."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(job.build()))
    (document,) = read_documents(str(file))
    assert not find_errors(document)
    return {each.rule for each in find_advice(document, OF_STYLE)}


def env(**values: str) -> list[Raw]:
    return [{"name": name, "value": value} for name, value in values.items()]


def shell(script: str) -> list[str]:
    return ["bash", "-c", script]


CLI = ["paddleformers-cli", "train", "sft.yaml"]
TRAINS = "import paddle; paddle.nn.Linear(1, 1)"
MEETS = "import paddle; paddle.distributed.init_parallel_env()"
PODS = env(https_proxy="http://p:3128", NO_PROXY="localhost,10.0.0.0/8")
RULES: dict[str, tuple[JobBuilder, str]] = {
    "a tool with servers": (workers(command=CLI).with_ps(1), "tool-alone"),
    "a tool in an elastic job": (
        workers(args=shell("erniekit train x")).with_spec(elastic=1), "tool-alone"),
    "a tool": (workers(command=CLI), ""),
    "a tool with peers of its own": (
        workers(command=CLI, env=env(NNODES="2", MASTER_ADDR="a")).with_ps(1), ""),
    "a program without peers": (workers(command=["python3", "-u", "-c", TRAINS]), "no-launcher"),
    "a program with peers": (workers(command=["python", "-c", MEETS]), ""),
    "a program alone": (workers(1, command=["python", "-c", TRAINS]), ""),
    "one process for 8 devices": (
        workers(command=["python", "tools/train.py"], resources=GPUS, volumeMounts=[SHM],
                pod={"volumes": [{"name": "shm", "emptyDir": {}}]}), "no-launcher"),
    "a file": (workers(command=["python", "train.py"]), ""),
    "a repository in capitals": (workers(image="Paddle/train:1"), "image-name"),
    "a tag and a host in capitals": (workers(image="R.example.com:5000/train:V1@sha256:A"), ""),
    "too many processes": (
        workers(command=[*LAUNCH, "--nproc_per_node=21", "a.py"]), "processes"),
    "a process for each port": (workers(command=[*LAUNCH, "--nproc_per_node=20", "a.py"]), ""),
    "processes of one pod": (workers(1, command=[*LAUNCH, "--nproc_per_node=21", "a.py"]), ""),
    "more nodes": (workers(command=[*LAUNCH, "--nnodes", "4", "a.py"]), "launcher-nodes"),
    "fewer nodes": (
        workers(args=shell(f"cd /a && python -m {LAUNCHERS[0]} \\\n --nnodes=1 a.py")),
        "launcher-nodes"),
    "one address": (workers(command=["fleetrun", "--ips=127.0.0.1", "a.py"]), "launcher-nodes"),
    "as many nodes": (workers(command=[*LAUNCH, "--nnodes=2", "--log_dir=x", "a.py"]), ""),
    "a range of nodes": (workers(command=[*LAUNCH, "--nnodes", "1:2", "a.py"]), ""),
    "a launcher of words": (
        workers(args=shell("# fleetrun --nnodes 4\necho fleetrun --nnodes 4; python a.py")), ""),
    "a launcher as an option": (
        workers(command=["python", "a.py", "--by", "fleetrun", "--nnodes", "4"]), ""),
    "nodes after a variable": (
        workers(args=shell("set -e; A=1 /opt/fleetrun --nnodes 4 a.py")), "launcher-nodes"),
    "nodes beyond number": (workers(command=[*LAUNCH, f"--nnodes={'9' * 5000}", "a.py"]), ""),
    "nodes of a variable": (
        workers(command=[*LAUNCH, "--nnodes=$(NNODES)", "--ips=$IPS", "a.py"],
                env=env(IPS="a")), ""),
    "nodes of the program": (
        workers(command=[*LAUNCH, "a.py", "--nnodes", "9", "--master=localhost"]), ""),
    "a master of its own": (
        workers(command=[*LAUNCH, "--master", "127.0.0.1:8080", "a.py"]), "launcher-master"),
    "worker 0 as master": (workers(command=[*LAUNCH, "--master=$(MASTER_ADDR):80", "a.py"]), ""),
    "one log": (
        workers(command=[*LAUNCH, "--log_dir", "/data/log", "a.py"], volumeMounts=[DATA],
                pod={"volumes": [CLAIM]}), "shared-log"),
    "one log by default": (
        workers(command=[*LAUNCH, "a.py"], workingDir="/data", volumeMounts=[DATA],
                pod={"volumes": [CLAIM]}), "shared-log"),
    "logs by pod": (
        workers(command=[*LAUNCH, "--log_dir=/data/$(POD_IP)", "a.py"], volumeMounts=[DATA],
                pod={"volumes": [CLAIM]}), ""),
    "folders by pod": (
        workers(command=[*LAUNCH, "--log_dir=/data", "a.py"],
                volumeMounts=[{**DATA, "subPathExpr": "$(POD_IP)"}], pod={"volumes": [CLAIM]}), ""),
    "logs elsewhere": (
        workers(command=[*LAUNCH, "a.py"], volumeMounts=[DATA], pod={"volumes": [CLAIM]}), ""),
    "a proxy": (workers(env=env(HTTP_PROXY="http://p:3128", no_proxy="localhost")), "proxy"),
    "a proxy around pods": (workers(env=PODS), ""),
    "a proxy for one": (workers(1, env=env(HTTP_PROXY="http://p:3128")), ""),
    "little shared memory": (
        workers(command=LAUNCH, resources={"limits": {"huawei.com/Ascend910": 8}}),
        "shared-memory"),
    "shares of a device": (
        workers(command=LAUNCH, resources={"limits": {"nvidia.com/gpumem": 8000}}), ""),
    "one device": (workers(resources={"limits": {"kunlunxin.com/xpu": 1}}), ""),
    "any interface": (
        workers(resources={"limits": {"amd.com/gpu": 1}}).with_spec(intranet="Host"),
        "nccl-interface"),
    "a known interface": (
        workers(resources={"limits": {"amd.com/gpu": 1}}, env=env(NCCL_SOCKET_IFNAME="eth0"))
        .with_spec(intranet="Host"), ""),
}  # fmt: skip


@pytest.mark.parametrize(("job", "rule"), RULES.values(), ids=RULES.keys())
def test_advice_is_given_where_it_is_due(job, rule, tmp_path):
    assert rules_of(job, tmp_path) == ({rule} if rule else set())


UNSET = (
    "unset PADDLE_TRAINER_ENDPOINTS; launch",
    "unset -v A PADDLE_TRAINER_ID\nlaunch",
    "env -u PADDLE_TRAINER_ENDPOINTS python -m paddle.distributed.launch t.py",
    "env --unset=POD_IP python t.py",
    "env -i PATH=$PATH python t.py",
    "PADDLE_TRAINER_ENDPOINTS= python t.py",
    "export PADDLE_TRAINERS_NUM=\npython t.py",
    "export -n PADDLE_TRAINERS_NUM; python t.py",
    "python -c \"import os; os.environ.pop('PADDLE_TRAINER_ENDPOINTS', None)\"",
)
NOT_UNSET = ("unset http_proxy", "# unset PADDLE_TRAINER_ENDPOINTS", "unset PADDLE_MASTER", "A= b")
UNKNOWN = (
    "launch --nnodes=$PADDLE_NNODES t.py",
    "launch --nnodes ${PADDLE_NNODES} t.py",
    'launch --master "$PADDLE_MASTER" t.py',
    "launch --master $MY_OWN t.py",
    "python t.py --rank=$VC_TASK_INDEX",
    "python t.py --rank $JOB_COMPLETION_INDEX --world $WORLD_SIZE",
    "python -c \"import os; os.environ['PADDLE_MASTER']\"",
    "python t.py $(PADDLE_MASTER)",
)
KNOWN = (
    "python t.py $PADDLE_TRAINER_ID $PADDLE_TRAINERS_NUM $POD_IP $NNODES $MASTER_ADDR $RANK",
    "launch --nnodes=${PADDLE_NNODES:-2} t.py",
    "PADDLE_NNODES=2; launch --nnodes=$PADDLE_NNODES t.py",
    "export PADDLE_MASTER=a:1; python t.py $PADDLE_MASTER",
    "for NODE_RANK in 1 2; do echo $NODE_RANK; done",
    "read -r PADDLE_MASTER < f; echo $PADDLE_MASTER",
    "awk '{ print $PADDLE_MASTER }' f",
    "echo $$PADDLE_MASTER $HOME $CUDA_HOME ${LD_LIBRARY_PATH}",
    ". /etc/profile; launch --nnodes=$PADDLE_NNODES t.py",
    "# python $PADDLE_MASTER",
    "python t.py $MINE",
    'if [ -z "$PADDLE_MASTER" ]; then echo none; fi',
)


def rules_of_script(script: str, folder: Path, **trainer: Any) -> set[str]:
    script = script.replace("launch ", "python -m paddle.distributed.launch ")
    return rules_of(workers(command=shell(script), **trainer), folder)


@pytest.mark.parametrize(
    ("script", "is_found"), [*((s, True) for s in UNSET), *((s, False) for s in NOT_UNSET)]
)
def test_script_that_takes_a_variable_away(script, is_found, tmp_path):
    assert ("unset-variable" in rules_of_script(script, tmp_path)) == is_found


@pytest.mark.parametrize(
    ("script", "is_found"), [*((s, True) for s in UNKNOWN), *((s, False) for s in KNOWN)]
)
def test_script_that_reads_what_no_pod_gets(script, is_found, tmp_path):
    assert ("unknown-variable" in rules_of_script(script, tmp_path)) == is_found


def test_variable_of_the_template_or_of_an_unread_source_is_known(tmp_path):
    script = "launch --master $PADDLE_MASTER t.py"
    assert rules_of_script(script, tmp_path, env=env(PADDLE_MASTER="a:1")) == set()
    source = [{"configMapRef": {"name": "a"}}]
    assert rules_of_script(script, tmp_path, envFrom=source) == set()
    told = rules_of_script("python t.py", tmp_path, env=env(A="$(PADDLE_MASTER)"))
    assert told == {"unknown-variable"}


def test_variables_of_other_roles_and_modes_are_not_this_ones(tmp_path):
    """A worker has no PADDLE_PSERVER_ID; an elastic job has PADDLE_MASTER, and no endpoints."""
    servers = workers(command=shell("echo $PADDLE_PSERVER_ID")).with_ps(1)
    assert rules_of(servers, tmp_path) == {"unknown-variable"}
    elastic = workers(command=shell("echo $PADDLE_MASTER")).with_spec(elastic=1)
    assert rules_of(elastic, tmp_path) == set()
    elastic = workers(command=shell("echo $PADDLE_TRAINER_ENDPOINTS")).with_spec(elastic=1)
    assert rules_of(elastic, tmp_path) == {"unknown-variable"}


@pytest.mark.parametrize(
    "script",
    ["python t.py --ips=$(cat /etc/volcano/worker.host)", "echo $VC_WORKER_HOSTS", "cat $VC_X"],
)
def test_what_volcanos_jobs_get_is_not_there(script, tmp_path):
    assert "volcano" in rules_of_script(script, tmp_path)


def slices(number: int, workers_: int = 2) -> JobBuilder:
    resources = {"limits": {"nvidia.com/mig-1g.5gb": number}}
    return workers(workers_, command=["python", "t.py"], resources=resources)


FQDN = {"setHostnameAsFQDN": True}
ELSEWHERE: dict[str, tuple[JobBuilder, str]] = {
    "two slices": (slices(2, 1), "mig"),
    "a slice for each of two workers": (slices(1), "mig"),
    "one slice": (slices(1, 1), ""),
    "two workers on the host": (workers(pod={"hostNetwork": True}), "host-network"),
    "the host by intranet": (workers(pod={"hostNetwork": True}).with_spec(intranet="Host"), ""),
    "one worker on the host": (workers(1, pod={"hostNetwork": True}), ""),
    "a long domain": (workers(pod=FQDN).with_metadata(namespace="n" * 30), "host-name"),
    "a short domain": (workers(pod=FQDN), ""),
    "a long name": (workers(pod={"hostnameOverride": "a" * 65}), "host-name"),
    "a name": (workers(pod={"hostnameOverride": "a" * 64}), ""),
}


@pytest.mark.parametrize(("job", "rule"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_works_elsewhere_is_told(job, rule, tmp_path):
    assert rules_of(job, tmp_path) == ({rule} if rule else set())


def test_a_flag_names_more_accelerators(tmp_path):
    file = tmp_path / "job.yaml"
    job = workers(command=LAUNCH, resources={"limits": {"example.com/npu": 8}})
    file.write_text(yaml.safe_dump(job.build()))
    (document,) = read_documents(str(file))
    assert not find_advice(document, OF_STYLE)
    assert [each.rule for each in find_advice(document, OF_STYLE, ("*/npu",))] == ["shared-memory"]


def published(folder: Path) -> Iterator[Document]:
    """Every job of the examples, of the manuals and of our own documents."""
    for place in ("examples", "tests/manuals/printed", "tests/manuals/jobs"):
        for file in sorted((CHECKOUT / place).rglob("*.yaml")):
            yield from read_documents(str(file))
    pages = sorted((CHECKOUT / "docs").glob("*.md"))
    texts = [t for page in pages for t in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S)]
    for text in texts:
        if "kind: PaddleJob" in text and "apiVersion" in text:
            (folder / "job.yaml").write_text(text)
            yield from read_documents(str(folder / "job.yaml"))


def test_no_published_job_is_warned_of(tmp_path):
    jobs = [each for each in published(tmp_path) if is_job(each) and not find_errors(each)]
    assert len(jobs) > 20
    assert not [advice for job in jobs for advice in find_advice(job, OF_STYLE)]
