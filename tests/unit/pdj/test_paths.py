"""Paths of requests: a name is one step of them, whatever it is."""

import pytest

from pdj.errors import Problem
from pdj.gather.paths import core_path, jobs_path, log_path


@pytest.mark.parametrize("name", [".", "..", "../secrets", "one/status", "a%2fb", "/"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    for path in (
        lambda: jobs_path("default", name),
        lambda: jobs_path(name),
        lambda: core_path(name, "pods"),
        lambda: log_path("default", name),
    ):
        with pytest.raises(Problem, match="is not the name of an object"):
            path()


def test_any_other_name_is_one_step():
    assert jobs_path("default", "<b>?x#y").rpartition("/")[2] == "%3Cb%3E%3Fx%23y"
    assert jobs_path("").endswith("/paddlejobs")
