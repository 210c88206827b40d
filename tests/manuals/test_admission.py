"""What the manuals print is admitted as printed, where they lie beside the checkout."""

import pytest
import yaml

from tests.lab import Lab
from tests.manuals.reader import ABSENT, Printed, printed

VOLCANOS_OWN = "batch.volcano.sh/v1alpha1"
OBJECTS = [each for each in printed() if each.thing["apiVersion"] != VOLCANOS_OWN]


@pytest.mark.skipif(not OBJECTS, reason=ABSENT)
@pytest.mark.parametrize("each", OBJECTS, ids=str)
def test_is_admitted_as_printed(lab: Lab, each: Printed) -> None:
    text = yaml.safe_dump(each.thing)
    told = lab.kubectl("create", "--dry-run=server", "-f", "-", stdin=text)
    assert "created (server dry run)" in told
