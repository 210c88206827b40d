"""The store: children belong by UID, a list replaces the whole, nothing handed out changes."""

import copy

import pytest

from api.ownership import Key
from controller.cache.store import MAX_CONFIG_MAP_BYTES, Family, Store, pack
from controller.client.resources import CONFIG_MAP, PADDLE_JOB, POD, VOLCANO_POD_GROUP
from tests.unit.controller.fakes import nothing_kept_by
from tests.unit.controller.stored import a_job, a_pod, owner_reference, put, remove, replace

JOB = Key("ns", "train")


@pytest.fixture
def store() -> Store:
    return Store((PADDLE_JOB, POD, CONFIG_MAP, VOLCANO_POD_GROUP))


def family_of(store: Store) -> Family:
    family = store.family(JOB)
    assert family is not None
    return family


def pods_of(store: Store) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in family_of(store).children.get(POD, ()))


def test_a_family_is_the_job_and_what_it_controls(store):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, POD, a_pod("mine", job))
    put(store, POD, a_pod("nobodys"))
    assert pods_of(store) == ["mine"]


def test_pods_of_a_former_job_of_the_same_name_are_not_the_new_ones(store):
    put(store, POD, a_pod("old", a_job(uid="former")))
    put(store, PADDLE_JOB, a_job(uid="present"))
    assert pods_of(store) == []
    assert family_of(store).former_children == ("Pod old",)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "Job"},
        {"apiVersion": "batch/v1"},
        {"apiVersion": "batch.paddlepaddle.org/v1beta1"},
        {"controller": False},
    ],
    ids=["kind", "group", "version", "not the controller"],
)
def test_only_a_controlling_paddlejob_owns(changes):
    pod = a_pod(ownerReferences=[owner_reference(a_job(), **changes)])
    entry = pack(POD, pod)
    assert entry.owner is None


@pytest.mark.parametrize("resource", [POD, CONFIG_MAP, VOLCANO_POD_GROUP])
@pytest.mark.parametrize(
    "forged",
    [
        {"namespace": "other"},
        {"ownerReferences": [owner_reference(a_job(), name="other")]},
        {"namespace": "other", "ownerReferences": [owner_reference(a_job(), name="other")]},
    ],
    ids=["another namespace", "another name", "both"],
)
def test_the_uid_alone_makes_no_child(store, resource, forged):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, resource, a_pod("forged", **({"owner": job} | forged)))
    assert family_of(store).children == {}


@pytest.mark.parametrize("name", ["train", "other"])
def test_a_child_that_changes_hands_leaves_its_family(store, name):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, POD, a_pod("p", job))
    put(store, POD, a_pod("p", a_job(name, uid="other"), version=3))
    assert pods_of(store) == []


def test_what_is_gone_takes_no_memory(store):
    with nothing_kept_by(store):
        for number in range(1000):
            job = a_job(f"job-{number}", uid=f"uid-{number}")
            for resource, obj in ((PADDLE_JOB, job), (POD, a_pod(f"pod-{number}", job))):
                put(store, resource, obj)
                remove(store, resource, obj)


def test_a_list_tells_what_is_new_changed_and_gone(store):
    same, old, gone = a_pod("same"), a_pod("old"), a_pod("gone")
    replace(store, POD, [same, old, gone], "5")
    changed = replace(store, POD, [same, a_pod("old", version=7), a_pod("new")], "8")
    assert changed == ["gone", "new", "old"]
    assert store.get(POD, Key("ns", "gone")) is None


def test_a_list_after_a_restore_of_etcd_counts_where_versions_are_the_same(store):
    put(store, POD, a_pod("train", a_job(), version=7, deletionTimestamp="2026-01-02T03:04:05Z"))
    put(store, PADDLE_JOB, a_job())
    assert replace(store, POD, [a_pod("train", a_job(), version=7)], "8") == ["train"]
    (pod,) = family_of(store).children[POD]
    assert "deletionTimestamp" not in pod["metadata"]


def test_a_list_of_one_kind_leaves_the_others(store):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, CONFIG_MAP, a_pod("cm", job))
    replace(store, POD, [], "9")
    family = family_of(store)
    assert len(family.children[CONFIG_MAP]) == 1


def test_versions_only_grow_but_by_a_list(store):
    put(store, POD, a_pod(version=7))
    store.advance(POD, "5")
    assert store.version(POD) == 7
    store.advance(POD, "9")
    assert store.version(POD) == 9
    remove(store, POD, a_pod(version=12))
    assert store.version(POD) == 12, "a deletion counts as seen"


def test_a_list_of_one_namespace_leaves_the_others_and_their_version():
    store = Store((PADDLE_JOB, POD), ("ns", "other"))
    put(store, POD, a_pod("mine"))
    put(store, POD, a_pod("theirs", namespace="other"))
    assert [e.key for e in store.replace(POD, [], "9", "other")] == [Key("other", "theirs")]
    assert store.entry(POD, Key("ns", "mine"))
    assert (store.version(POD, "ns"), store.version(POD, "other")) == (2, 9)
    store.advance(POD, "30", "other")
    assert (store.version(POD, "ns"), store.version(POD, "other")) == (2, 30)


def test_what_was_handed_out_does_not_change(store):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, POD, a_pod("p", job))
    family = family_of(store)
    before = copy.deepcopy((family.job, family.children[POD]))
    put(store, POD, a_pod("p", job, version=9))
    put(store, POD, a_pod("q", job))
    remove(store, PADDLE_JOB, job)
    assert (family.job, family.children[POD]) == before


def test_a_pod_group_with_the_jobs_name_is_named_whoever_made_it(store):
    group = {"metadata": {"name": "train", "namespace": "ns", "resourceVersion": "1"}}
    put(store, PADDLE_JOB, a_job())
    put(store, VOLCANO_POD_GROUP, group)
    family = family_of(store)
    assert family.named_pod_group == group
    assert family.children == {}


def a_rendezvous(number: int, namespace: str, bytes_: int = 300_000) -> dict:
    config_map = a_pod(f"map-{number}", a_job(), namespace=namespace)
    return config_map | {"data": {"PADDLE_TRAINER_ENDPOINTS": "x" * bytes_}}


def test_config_maps_of_one_namespace_take_a_bounded_part_of_memory(store):
    for number in range(400):
        put(store, CONFIG_MAP, a_rendezvous(number, "many"))
    put(store, CONFIG_MAP, a_rendezvous(0, "few"))
    kept = [store.get(CONFIG_MAP, Key("many", f"map-{number}")) for number in range(400)]
    assert sum(len(str(each["data"])) for each in kept if each) < MAX_CONFIG_MAP_BYTES
    assert all(kept)
    assert store.get(CONFIG_MAP, Key("few", "map-0"))["data"]


def test_what_a_config_map_took_is_free_when_it_is_gone(store):
    for _ in range(2):
        for number in range(50):
            put(store, CONFIG_MAP, a_rendezvous(number, "ns"))
        for number in range(50):
            assert store.get(CONFIG_MAP, Key("ns", f"map-{number}"))["data"]
            remove(store, CONFIG_MAP, a_rendezvous(number, "ns"))
