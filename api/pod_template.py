"""The pod template's schema, as a Kubernetes API server describes it.

`pod_template.json` is a snapshot, reduced to what a CustomResourceDefinition may carry; it says
which Kubernetes it was taken from. `make openapi` renews it.
"""

import json
import pkgutil
from pathlib import Path

from api.objects import Raw

SNAPSHOT = Path(__file__).with_name("pod_template.json")


def load_pod_template() -> Raw:
    """A fresh copy of the template's schema: the caller may change it."""
    # By the package's loader: `kubectl pdj` may run out of a zip.
    data = pkgutil.get_data("api", SNAPSHOT.name) or b""
    schema: Raw = json.loads(data)["schema"]
    return schema
