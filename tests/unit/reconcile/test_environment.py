"""The trainer container's own environment, and the names that the operator owns."""

import pytest

from api.constants import Role
from api.job import pod_name
from api.objects import Raw
from reconcile.model.plan import Settings
from reconcile.objects.environment import build_env, merge_env
from reconcile.objects.templates import replaced_fields
from tests.memory.builders import JobBuilder, a_job, a_template, view_of

PS_JOB = a_job().with_ps(2).with_workers(2)


def env(
    job: JobBuilder, role: Role = Role.WORKER, index: int = 0, server: str = "host:2379"
) -> dict[str, object]:
    """Name -> value of the operator's own entries for one pod."""
    view = view_of(job, settings=Settings(elastic_server=server, elastic_timeout_seconds=60))
    entries = build_env(view, pod_name("train", role, index), role, index)
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}


def with_env(*entries: Raw, container: str = "paddle") -> Raw:
    return {"spec": {"containers": [{"name": container, "env": list(entries)}]}}


@pytest.mark.parametrize(
    ("resources", "device"),
    [({}, "cpu"), ({"limits": {"nvidia.com/gpu": 1}}, "gpu"), ({"limits": {"cpu": 1}}, "cpu")],
)
def test_device_follows_the_limits(resources, device):
    template = {"spec": {"containers": [{"name": "paddle", "resources": resources}]}}
    job = a_job().with_ps(1).with_workers(1).with_heter(1, template)
    assert env(job, Role.HETER)["HETER_DEVICE_TYPE"] == device


def test_trainer_asks_for_a_key_that_only_its_own_jobs_config_map_has():
    key = {"name": "train-attempt-3", "key": "PADDLE_RENDEZVOUS_0123abcd_uid"}
    found = env(a_job().with_workers(2).with_status(attempt=3))
    assert found["PADDLE_RENDEZVOUS"] == {"configMapKeyRef": key}


@pytest.mark.parametrize("server", ["etcd.kube:2379", "dc1-etcd:2379", "10.0.0.1:2379", "a:2379"])
def test_launcher_finds_the_host_of_the_etcd(server):
    """It strips the scheme's letters off the front, however many there are."""
    master = str(env(a_job().with_elastic_workers(2, 2, 3), server=server)["PADDLE_MASTER"])
    assert master.strip("etcd://").lower() == server  # noqa: B005 - as the launcher does


def test_elastic_jobs_meet_in_the_etcd_of_their_namespace():
    job = a_job().with_elastic_workers(2, 2, 3).with_metadata(namespace="team-a")
    assert env(job, server="")["PADDLE_MASTER"] == "etcd://paddle-elastic-etcd.team-a:2379"


def test_no_attempts_id_is_the_prefix_of_another():
    ids = []
    for attempt in (1, 10, 100, 1000, 10_000):
        job = a_job().with_elastic_workers(2, 2, 3).with_status(attempt=attempt)
        ids.append(str(env(job)["PADDLE_JOB_ID"]))
    assert not [(a, b) for a in ids for b in ids if a != b and b.startswith(a)]


def merged(job: JobBuilder, *template: Raw) -> dict[str, object]:
    """Name -> value after the template's entries were added."""
    view = view_of(job)
    entries = merge_env(view, build_env(view, "train-worker-0", Role.WORKER, 0), list(template))
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {entry["name"]: entry.get("value") for entry in entries}


@pytest.mark.parametrize(
    "name", ["PADDLE_TRAINER_ID", "POD_IP", "TRAINING_ROLE", "PADDLE_TRAINER_ENDPOINTS"]
)
def test_owned_variables_are_dropped(name):
    assert merged(PS_JOB, {"name": name, "value": "mine"}).get(name) != "mine"


@pytest.mark.parametrize("name", ["PADDLE_MASTER", "PADDLE_JOB_ID", "PADDLE_NNODES", "PADDLE_RANK"])
def test_launchers_variables_are_owned_by_elastic_jobs_alone(name):
    mine = {"name": name, "value": "mine"}
    assert merged(PS_JOB, mine)[name] == "mine"
    assert merged(a_job().with_elastic_workers(1, 1, 2), mine).get(name) != "mine"


def test_users_variables_follow_so_that_references_resolve():
    view = view_of(PS_JOB)
    own = build_env(view, "train-worker-0", Role.WORKER, 0)
    mine = {"name": "ME", "value": "$(PADDLE_CURRENT_ENDPOINT)"}
    entries = merge_env(view, own, [mine])
    assert entries == [*own, mine]


@pytest.mark.parametrize(
    ("intranet", "kept"), [("PodIP", True), ("Service", True), ("Host", False)]
)
def test_template_chooses_the_port_where_all_share_one(intranet, kept):
    port = {"name": "PADDLE_PORT", "value": "30236"}
    found = merged(a_job().with_workers(1).with_spec(intranet=intranet), port)
    assert (found["PADDLE_PORT"] == "30236") == kept


def test_template_chooses_the_heter_device():
    job = a_job().with_ps(1).with_workers(1).with_heter(1)
    assert merged(job, {"name": "HETER_DEVICE_TYPE", "value": "xpu"})["HETER_DEVICE_TYPE"] == "xpu"


OVERRIDDEN = {
    "other": ({"name": "PADDLE_TRAINER_ID", "value": "7"}, ["PADDLE_TRAINER_ID].value"]),
    "the-same": ({"name": "TRAINING_ROLE", "value": "TRAINER"}, []),
    "not-owned": ({"name": "MINE", "value": "7"}, []),
    "port": ({"name": "PADDLE_PORT", "value": "7"}, []),
    "config-map": ({"name": "PADDLE_TRAINERS_NUM", "value": "7"}, ["PADDLE_TRAINERS_NUM]"]),
}


@pytest.mark.parametrize(("entry", "told"), OVERRIDDEN.values(), ids=OVERRIDDEN)
def test_overridden_variables_are_told(entry, told):
    found = replaced_fields(view_of(a_job().with_workers(2, with_env(entry))), None)
    assert found == [f"worker: spec.containers[paddle].env[{each}" for each in told]


@pytest.mark.parametrize(
    ("job", "has_rank"),
    [
        pytest.param(a_job().with_workers(2), True, id="collective"),
        pytest.param(a_job().with_workers(1), True, id="single"),
        pytest.param(PS_JOB, False, id="ps"),
        pytest.param(a_job().with_ps(1).with_workers(1).with_heter(1), False, id="heter"),
        pytest.param(a_job().with_elastic_workers(2, 2, 3), False, id="elastic"),
    ],
)
def test_workers_without_servers_are_given_the_rank_that_paddleformers_reads(job, has_rank):
    assert env(job).get("RANK") == ("0" if has_rank else None)
    assert env(job)["PYTHONUNBUFFERED"] == "1"


@pytest.mark.parametrize("name", ["RANK", "NNODES", "MASTER_ADDR", "PYTHONUNBUFFERED"])
def test_a_template_that_ranks_its_workers_itself_wins_without_an_event(name):
    mine = {"name": name, "value": "mine"}
    assert merged(a_job().with_workers(2), mine)[name] == "mine"
    assert not replaced_fields(view_of(a_job().with_workers(2, with_env(mine))), None)


def test_sidecars_variables_are_their_own():
    template = a_template()
    entry = {"name": "PADDLE_TRAINER_ID", "value": "7"}
    template["spec"]["containers"].append({"name": "sidecar", "env": [entry]})
    assert replaced_fields(view_of(a_job().with_workers(1, template)), None) == []
