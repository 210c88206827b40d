"""The store: children belong by UID, a list replaces the whole, nothing handed out changes."""

import copy

import pytest

from controller.resources import CONFIG_MAP, PADDLE_JOB, POD, VOLCANO_POD_GROUP
from controller.store import Key, Store, pack
from tests.unit.controller.builders import a_job, a_pod, owner_reference, put, remove, replace

JOB = Key("ns", "train")


@pytest.fixture
def store() -> Store:
    return Store((PADDLE_JOB, POD, CONFIG_MAP, VOLCANO_POD_GROUP))


def pods_of(store: Store) -> list[str]:
    family = store.family(JOB)
    assert family is not None
    return sorted(pod["metadata"]["name"] for pod in family.children.get(POD, ()))


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


@pytest.mark.parametrize(
    "changes",
    [{"kind": "Job"}, {"apiVersion": "batch/v1"}, {"controller": False}],
    ids=["kind", "group", "not the controller"],
)
def test_only_a_controlling_paddlejob_owns(changes):
    pod = a_pod(ownerReferences=[owner_reference(a_job(), **changes)])
    entry = pack(POD, pod)
    assert entry.job is None
    assert entry.owner == ""


def test_a_child_that_changes_hands_leaves_its_family(store):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, POD, a_pod("p", job))
    put(store, POD, a_pod("p", a_job(uid="other"), version=3))
    assert pods_of(store) == []


def test_a_removed_child_is_gone_from_the_family(store):
    job = a_job()
    pod = a_pod("p", job)
    put(store, PADDLE_JOB, job)
    put(store, POD, pod)
    remove(store, POD, pod)
    assert pods_of(store) == []
    assert store._by_owner == {}


def test_a_list_tells_what_is_new_changed_and_gone(store):
    same, old, gone = a_pod("same"), a_pod("old"), a_pod("gone")
    replace(store, POD, [same, old, gone], "5")
    changed = replace(store, POD, [same, a_pod("old", version=7), a_pod("new")], "8")
    assert changed == ["gone", "new", "old"]
    assert store.get(POD, Key("ns", "gone")) is None


def test_a_list_of_one_kind_leaves_the_others(store):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, CONFIG_MAP, a_pod("cm", job))
    replace(store, POD, [], "9")
    family = store.family(JOB)
    assert family is not None
    assert len(family.children[CONFIG_MAP]) == 1


def test_versions_only_grow_but_by_a_list(store):
    put(store, POD, a_pod(version=7))
    store.advance(POD, "5")
    assert store.version(POD) == 7
    store.advance(POD, "9")
    assert store.version(POD) == 9


def test_a_deletion_counts_as_seen(store):
    remove(store, POD, a_pod(version=12))
    assert store.version(POD) == 12


def test_what_was_handed_out_does_not_change(store):
    job = a_job()
    put(store, PADDLE_JOB, job)
    put(store, POD, a_pod("p", job))
    family = store.family(JOB)
    assert family is not None
    before = copy.deepcopy((family.job, family.children[POD]))
    put(store, POD, a_pod("p", job, version=9))
    put(store, POD, a_pod("q", job))
    remove(store, PADDLE_JOB, job)
    assert (family.job, family.children[POD]) == before


def test_a_pod_group_with_the_jobs_name_is_named_whoever_made_it(store):
    group = {"metadata": {"name": "train", "namespace": "ns", "resourceVersion": "1"}}
    put(store, PADDLE_JOB, a_job())
    put(store, VOLCANO_POD_GROUP, group)
    family = store.family(JOB)
    assert family is not None
    assert family.named_pod_group == group
    assert family.children == {}


def test_an_unknown_job_has_no_family(store):
    assert store.family(JOB) is None
