"""What kept a job from its pods goes after a while, and its pods come soon."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.faulty import impose
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import DEPLOYMENT, grant_roles, operator_beside
from tests.live.proxy import refused_creates
from tests.live.tenant import wait_right

TRIES = 3
"""In vain. If each pause was twice the last, the next try would come 40 s later."""


@contextmanager
def quota(lab: Lab) -> Iterator[None]:
    impose(lab, "none", pods=0)
    yield
    lab.kubectl("delete", "quota", "none")


@contextmanager
def rights(lab: Lab) -> Iterator[None]:
    """The operator may not even write that it may not."""
    binding = lab.kubectl("get", "rolebinding", DEPLOYMENT, "-o", "yaml")
    lab.kubectl("delete", "rolebinding", DEPLOYMENT)
    wait_right(lab, DEPLOYMENT, "create", "", "pods", is_given=False)
    yield
    lab.kubectl("apply", "-f", "-", stdin=binding)


TROUBLES = (quota, rights)


@pytest.fixture
def labs(unattended: Cluster) -> Iterator[list[Lab]]:
    """A namespace for each trouble, with an operator of its own rights."""
    with ExitStack() as stack:
        labs = [Lab(unattended, stack.enter_context(new_namespace(unattended))) for _ in TROUBLES]
        for lab in labs:
            grant_roles(unattended, lab.namespace)
            beside = operator_beside(unattended, lab.namespace, account_in=lab.namespace)
            stack.enter_context(beside)
            lab.submit(paddle_job("before", {"worker": (1, shell("true"))}))
            lab.wait_completed("before")
        yield labs


def test_pods_come_soon_after_the_cause_is_gone(labs: list[Lab]) -> None:
    """Of both at once: each takes half a minute to be tried so often."""
    with ExitStack() as troubles:
        for lab, trouble in zip(labs, TROUBLES, strict=True):
            troubles.enter_context(trouble(lab))
            lab.submit(paddle_job("held", {"worker": (1, shell("true"))}))
        for lab in labs:
            lab.wait(lambda lab=lab: len(refused_creates(lab)) >= TRIES, "tries in vain")
            assert not lab.pods("held")
    for lab in labs:
        lab.wait(lambda lab=lab: lab.pods("held"), "its pod")
