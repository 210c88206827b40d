"""Writes YAML that kubectl reads as the same values.

PyYAML alone would write the texts `1e-3`, `08` and `y` without quotes, because it reads them as
text. kubectl would read two numbers and true.
"""

from collections.abc import Iterable
from typing import Any

import yaml

from pdj.documents.reader import PlainLoader


class _Dumper(yaml.SafeDumper):
    """Quotes text that PyYAML or kubectl would not read as text."""

    def ignore_aliases(self, data: object) -> bool:
        """Write no `&id001`, so that each object can be read alone."""
        return True


for _letter, _pairs in PlainLoader.yaml_implicit_resolvers.items():
    for _tag, _rule in _pairs:
        _Dumper.add_implicit_resolver(_tag, _rule, [_letter])


def to_yaml(values: Iterable[Any], allow_unicode: bool = False) -> str:
    """The values as YAML documents without a final line feed; keys keep their order."""
    text: str = yaml.dump_all(values, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode)
    return text.rstrip("\n")
