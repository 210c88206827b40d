"""Every YAML that the manuals print is submitted, and ends as its manual says.

Jobs run as printed, Volcano's as `kubectl pdj convert` makes them, with the real programs behind
their images and little to train on. Most have Paddle's default ports, which some of its helpers
take on all addresses of the machine: these run one after the other, the others meanwhile.
"""

from typing import Any

import pytest

from pdj.documents.convert import convert
from tests.live import volcano
from tests.live.lab import CORE, Lab, environment_of
from tests.manuals.conftest import MANUALS_NFS, PASS, Plant
from tests.manuals.reader import ABSENT, Printed, blocks

Raw = dict[str, Any]
pytestmark = [
    pytest.mark.training,
    pytest.mark.cluster,
    pytest.mark.timeout(1000),
]
SYSTEM = "paddle-system"
JOB_SECONDS = 400.0
LEAST_BYTES = 10_000  # of a model that has seen samples
BLOCKS = blocks()


def each_block_of(api_version: str, kind: str) -> pytest.MarkDecorator:
    """One test for each block whose first object is of this kind."""

    def is_chosen(thing: Raw) -> bool:
        return (thing["apiVersion"], thing["kind"]) == (api_version, kind)

    chosen = [block for block in BLOCKS if is_chosen(block[0].thing)]
    if not chosen:
        return pytest.mark.skip(reason=ABSENT)
    return pytest.mark.parametrize("block", chosen, ids=["+".join(map(str, b)) for b in chosen])


@pytest.fixture(scope="module")
def meanwhile(plant: Plant) -> Plant:
    """The jobs with ports of their own have been submitted, and the claims are there."""
    view = ("--clusterrole=view", "--serviceaccount=default:default")
    plant.cluster.kubectl("create", "rolebinding", "pods", *view)
    for block in BLOCKS:
        first = block[0].thing
        if first["apiVersion"] == "batch.volcano.sh/v1alpha1":
            plant.lab(f"manual-{block[0].manual}").submit(converted(first))
        elif first["apiVersion"] == "batch/v1":
            plant.lab("default").submit(*(each.thing for each in block))
        elif first["kind"] == "PersistentVolume":
            plant.lab(SYSTEM).submit(*(each.thing for each in block))
    return plant


def converted(thing: Raw) -> Raw:
    """The PaddleJob of Volcano's Job, without Gloo, which its program does not know."""
    job, _ = convert(thing)
    job["spec"] |= {"cleanPodPolicy": "Never", "withGloo": 0}
    return job


@each_block_of("batch.paddlepaddle.org/v1", "PaddleJob")
def test_paddle_job_trains_to_its_end(meanwhile: Plant, block: list[Printed]) -> None:
    lab = meanwhile.lab(SYSTEM)
    job, *groups = (each.thing for each in block)
    name = job["metadata"]["name"]
    lab.submit(job, *groups)
    try:
        check_pods_are_as_printed(lab, job)
        lab.wait_completed(name, JOB_SECONDS)
        check_what_kubectl_prints(lab, job)
        check_training(lab, meanwhile, job)
        for group in groups:
            check_gang(lab, group)
    finally:
        kinds = [f"podgroups.scheduling.volcano.sh/{g['metadata']['name']}" for g in groups]
        # The next job has the same ports: no pod of this one may be left.
        for thing in (f"pdj/{name}", *kinds):
            lab.kubectl("delete", thing, "--cascade=foreground", timeout_seconds=150)


def check_pods_are_as_printed(lab: Lab, job: Raw) -> None:
    """Every field of a template is in its pods, and they get what they ask of a node."""
    roles = {role: job["spec"][role] for role in ("ps", "worker") if role in job["spec"]}
    name = job["metadata"]["name"]
    count = sum(role["replicas"] for role in roles.values())
    lab.wait(lambda: len(lab.pods(name)) == count, f"{count} pods of {name}")
    for role, spec in roles.items():
        for pod in lab.pods(name, role):
            for field, value in spec["template"]["spec"].items():
                assert contains(pod["spec"][field], value), (field, value, pod["spec"][field])
    if job["spec"].get("intranet") == "Service":
        pods = {pod["metadata"]["name"] for pod in lab.pods(name)}
        lab.wait(lambda: pods <= names_of(lab, "services"), f"a Service for each of {pods}")


def names_of(lab: Lab, resource: str) -> set[str]:
    """What there is of a kind."""
    return {each["metadata"]["name"] for each in lab.items(CORE, resource)}


def contains(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; the API server writes numbers of things as strings."""
    if isinstance(wanted, dict):
        return all(key in found and contains(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) >= len(wanted) and all(map(contains, found, wanted))
    return str(found) == str(wanted)


def check_what_kubectl_prints(lab: Lab, job: Raw) -> None:
    """`Completed PS 2/2 0/2` where the pods are kept, and no pod where they are not."""
    spec, name = job["spec"], job["metadata"]["name"]
    kept = spec.get("cleanPodPolicy") == "Never"
    roles = [role for role in ("ps", "worker") if role in spec]
    count = sum(spec[role]["replicas"] for role in roles) if kept else 0
    lab.wait(lambda: len(lab.pod_names(name)) == count, f"{count} pods left of {name}")

    def line() -> list[str]:
        return lab.kubectl("get", "pdj", name, "--no-headers").split()[:-1]

    servers = spec["ps"]["replicas"] if "ps" in spec else 0
    ready = [f"{servers if kept else 0}/{servers}"] if servers else []
    wanted = [name, "Completed", "PS" if servers else "Collective", *ready]
    wanted.append(f"0/{spec['worker']['replicas']}")
    lab.wait(lambda: line() == wanted, f"{wanted}, not {line()}")


def check_training(lab: Lab, plant: Plant, job: Raw) -> None:
    """The workers say that they have trained; a program on a volume has left its model there."""
    name = job["metadata"]["name"]
    if "persistentVolumeClaim" in str(job):
        model = plant.nfs / MANUALS_NFS / "model"
        parts = list(model.glob("*/part-*"))
        assert sum(part.stat().st_size for part in parts) > LEAST_BYTES
        servers = {part.name.split("-")[1] for part in parts}
        assert servers == {f"{index:03}" for index in range(job["spec"]["ps"]["replicas"])}
    elif lab.pod_names(name):
        for index in range(job["spec"]["worker"]["replicas"]):
            log = lab.log(f"{name}-worker-{index}")
            assert "on all workers" in log or "on 2 workers" in log
            assert "done" in log
        assert "model saved in" in lab.log(f"{name}-worker-0")


def check_gang(lab: Lab, group: Raw) -> None:
    """All pods were bound by Volcano as members of the user's group, which nobody has touched."""
    name = group["metadata"]["name"]
    pods = lab.pods(name)
    assert len(pods) == group["spec"]["minMember"]
    annotation = "scheduling.k8s.io/group-name"
    assert {pod["metadata"]["annotations"][annotation] for pod in pods} == {name}
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    found = lab.get(volcano.API, f"podgroups/{name}")
    assert contains(found["spec"], group["spec"])
    assert found["metadata"]["generation"] == 1


@each_block_of("v1", "PersistentVolume")
def test_claim_is_bound_to_its_volume(meanwhile: Plant, block: list[Printed]) -> None:
    lab = meanwhile.lab(SYSTEM)
    volume, claim = (each.name for each in block)

    def is_bound() -> bool:
        found = lab.get(CORE, f"persistentvolumeclaims/{claim}")
        phase = (found.get("status") or {}).get("phase")
        return (phase, found["spec"].get("volumeName")) == ("Bound", volume)

    lab.wait(is_bound, f"{claim} bound to {volume}")


@each_block_of("batch.volcano.sh/v1alpha1", "Job")
def test_volcano_job_trains_to_its_end(meanwhile: Plant, block: list[Printed]) -> None:
    lab = meanwhile.lab(f"manual-{block[0].manual}")
    thing, name = block[0].thing, block[0].name
    lab.wait_completed(name, JOB_SECONDS)
    pods = {role: lab.pods(name, role) for role in ("ps", "worker")}
    tasks = dict(zip(("ps", "worker"), thing["spec"]["tasks"], strict=True))
    for role, task in tasks.items():
        assert len(pods[role]) == task["replicas"]
        for pod in pods[role]:
            check_task(pod, task)
    by_label = lab.kubectl("get", "pods", "-l", "paddle-job=fluid-ctr", "--no-headers")
    assert [line.split()[1:3] for line in by_label.splitlines()] == [["0/1", "Completed"]] * 2
    check_old_variables(lab, name, pods)
    assert PASS in lab.log(f"{name}-worker-0")


def check_task(pod: Raw, task: Raw) -> None:
    """Labels, command, volumes and resources are the task's; so is every variable it may set."""
    template = task["template"]
    assert contains(pod["metadata"]["labels"], template["metadata"]["labels"])
    assert pod["spec"]["schedulerName"] == "volcano"
    (container,), (printed,) = pod["spec"]["containers"], template["spec"]["containers"]
    for field in ("image", "command", "imagePullPolicy", "volumeMounts", "resources"):
        assert contains(container[field], printed[field]), field
    for field in ("volumes", "imagePullSecrets", "restartPolicy"):
        assert contains(pod["spec"][field], template["spec"][field]), field
    env = {each["name"]: each for each in container["env"]}
    for each in printed["env"]:
        if not is_owned(each["name"]):
            assert (
                env[each["name"]].get("value", "") == (each.get("value") or "")
                or "valueFrom" in each
            )


def is_owned(variable: str) -> bool:
    """Whether the operator says it, and not the template."""
    return variable.startswith("PADDLE_") or variable in ("TRAINING_ROLE", "POD_IP")


def check_old_variables(lab: Lab, name: str, pods: dict[str, list[Raw]]) -> None:
    """What `paddle_k8s start_fluid` finds, and tells in the log, before it runs ENTRY."""
    addresses = {role: [pod["status"]["podIP"] for pod in pods[role]] for role in ("ps", "worker")}
    told = environment_of(lab.log(f"{name}-worker-1"))
    assert told["PADDLE_PORT"] == "30236"
    assert told["PADDLE_TRAINER_IPS"] == ",".join(addresses["worker"])
    assert told["PADDLE_TRAINER_ID"] == "1"
    assert told["TRAINING_ROLE"] == "TRAINER"
    assert told["PADDLE_PSERVERS_NUM"] == told["PADDLE_TRAINERS_NUM"] == "2"
    server = environment_of(lab.log(f"{name}-ps-1"))
    assert server["TRAINING_ROLE"] == "PSERVER"
    assert server["PADDLE_PSERVER_ID"] == "1"


@each_block_of("batch/v1", "Job")
def test_plain_job_trains_to_its_end(meanwhile: Plant, block: list[Printed]) -> None:
    lab = meanwhile.lab("default")
    job = block[0].thing
    wait = ("wait", "--for=condition=Complete", f"job/{block[0].name}")
    lab.kubectl(*wait, f"--timeout={JOB_SECONDS:.0f}s", timeout_seconds=JOB_SECONDS + 10)
    output = meanwhile.hosts / "home/work/mfs" / block[0].name / "output"
    for node in range(job["spec"]["completions"]):
        assert "800 samples here, 2400 on all" in (output / f"node_{node}/train.log").read_text()
        assert "serving" in (output / f"node_{node}/server.log").read_text()
    assert (output / PASS / "done").exists()
