"""JSON by the standard library: the tool is one file without a package that has to be built.

And YAML, as far as what is nested too deeply is not for its readers.
"""

import json
from typing import Any

from api.objects import Raw
from kube.depth import cut_deep
from kube.errors import Transient


def parse_json(data: bytes) -> Raw:
    """A JSON object. Raises Transient on anything else: a proxy may have answered instead.

    Of what is nested too deeply the depth is cut: one tenant's object must not hide the others.
    """
    try:
        value = _load(data)
    except (ValueError, RecursionError) as error:
        raise Transient(f"the answer is no JSON: {data[:100]!r}") from error
    if not isinstance(value, dict):
        raise Transient(f"the answer is no JSON object: {data[:100]!r}")
    return value


def _load(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        return json.loads(cut_deep(data))


def refuse_deep_yaml(text: str | bytes, loader: Any, most: int) -> None:
    """Raise ValueError before anybody builds what is nested: libyaml's stack ends the process."""
    import yaml  # takes time to import, and JSON needs none

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > most:
            raise ValueError(f"nested deeper than {most} levels")
