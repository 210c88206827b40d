"""Sets of values that people install with, and values that the chart refuses."""

from pathlib import Path
from typing import Any

import yaml

Raw = dict[str, Any]
_FILE: Raw = yaml.safe_load(Path(__file__).with_name("values.yaml").read_text())
SETS: dict[str, Raw] = _FILE["sets"]
WRONG: dict[str, tuple[str, Raw]] = _FILE["wrong"]
RIGHT: dict[str, Raw] = _FILE["right"]
FLAGS: Raw = SETS["every flag"]["operator"]
TEAMS: list[str] = SETS["list of namespaces"]["scope"]["namespaces"]
DIGEST: str = SETS["image"]["image"]["digest"]
