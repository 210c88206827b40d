"""What kept a job from its pods goes after a while, and its pods come soon."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import DEPLOYMENT, grant_roles, operator_beside
from tests.live.proxy import refused_creates

TRIES = 4
"""In vain. If each pause was twice the last, the next try would come 80 s later."""
BACK_SECONDS = 32.0


@contextmanager
def quota(lab: Lab) -> Iterator[None]:
    lab.kubectl("create", "quota", "none", "--hard=pods=0")
    yield
    lab.kubectl("delete", "quota", "none")


@contextmanager
def rights(lab: Lab) -> Iterator[None]:
    """The operator may not even write that it may not."""
    binding = lab.kubectl("get", "rolebinding", DEPLOYMENT, "-o", "yaml")
    lab.kubectl("delete", "rolebinding", DEPLOYMENT)
    yield
    lab.kubectl("apply", "-f", "-", stdin=binding)


@pytest.fixture
def roled(unattended: Cluster) -> Iterator[Lab]:
    """A namespace with an operator of its own rights."""
    with new_namespace(unattended) as namespace:
        grant_roles(unattended, namespace)
        with operator_beside(unattended, namespace, account_in=namespace):
            lab = Lab(unattended, namespace)
            lab.submit(paddle_job("before", {"worker": (1, shell("true"))}))
            lab.wait_completed("before")
            yield lab


@pytest.mark.parametrize("trouble", [quota, rights])
def test_pods_come_soon_after_the_cause_is_gone(
    roled: Lab, trouble: Callable[[Lab], AbstractContextManager[None]]
) -> None:
    with trouble(roled):
        roled.submit(paddle_job("held", {"worker": (1, shell("true"))}))
        roled.wait(lambda: len(refused_creates(roled)) >= TRIES, "tries in vain", 150)
        assert not roled.pods("held")
    roled.wait(lambda: roled.pods("held"), "its pod", BACK_SECONDS)
