"""YAML, as far as what is nested too deeply is not for its readers."""

from typing import Any


def refuse_deep_yaml(text: str | bytes, loader: Any, most: int) -> None:
    """Raise ValueError before anybody builds what is nested: libyaml's stack ends the process."""
    import yaml  # takes time to import, and JSON needs none

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > most:
            raise ValueError(f"nested deeper than {most} levels")
