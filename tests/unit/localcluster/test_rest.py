"""What the local cluster adds to the client of `kube`: yes or no about a server, and conditions."""

import pytest

from localcluster.client.rest import has_condition


@pytest.mark.parametrize(
    ("status", "holds"),
    [
        pytest.param({"conditions": [{"type": "Ready", "status": "True"}]}, True, id="true"),
        pytest.param({"conditions": [{"type": "Ready", "status": "False"}]}, False, id="false"),
        pytest.param({"conditions": [{"type": "Other", "status": "True"}]}, False, id="another"),
        pytest.param({"conditions": None}, False, id="no conditions"),
        pytest.param(None, False, id="no status"),
    ],
)
def test_conditions(status, holds):
    assert has_condition({"status": status}, "Ready") is holds
