"""A job that is submitted has a note of the user whom the API server knows."""

from typing import Any

import pytest

from api.constants import ANNOTATION_SUBMITTED_BY
from api.objects import Raw
from kube.errors import Forbidden, NotFound, Transient
from pdj.act.submit import SELF_REVIEWS, signed, submit, user_name
from tests.unit.pdj.cluster import JOBS, Cluster, placed

ANN = {"status": {"userInfo": {"username": "oidc:ann@example.com"}}}
OTHER = {ANNOTATION_SUBMITTED_BY: "somebody else", "mine": "stays"}


def notes(answer: Any, **metadata: Any) -> Raw:
    """The annotations of a submitted job, on an API server that answers this about its user."""
    cluster = Cluster()
    cluster.objects[SELF_REVIEWS] = answer
    job = placed(**metadata)
    given = dict(job["metadata"])
    submit(cluster, None, signed(job, "default", user_name(cluster)))
    assert job["metadata"] == given, "the caller's job stays as it is"
    return dict(cluster.objects[f"{JOBS}/mine"]["metadata"]["annotations"])


def test_the_user_is_noted_whatever_the_job_says() -> None:
    expected = {ANNOTATION_SUBMITTED_BY: "oidc:ann@example.com"}
    assert notes(ANN) == expected
    assert notes(ANN, annotations=None) == expected
    assert notes(ANN, annotations=OTHER) == expected | {"mine": "stays"}


UNKNOWN = {
    "old server": NotFound("no such path"),
    "proxy": Transient("a page in HTML"),
    "refused": Forbidden("not allowed"),
    "empty": {},
    "nameless": {"status": {"userInfo": {}}},
}


@pytest.mark.parametrize("answer", UNKNOWN.values(), ids=UNKNOWN)
def test_a_user_who_is_unknown_is_no_note_and_no_error(answer: Any) -> None:
    assert notes(answer, annotations=OTHER) == {"mine": "stays"}
    cluster = Cluster()
    cluster.objects[SELF_REVIEWS] = answer
    assert user_name(cluster) == ""
