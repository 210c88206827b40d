"""The image table with little to train on: the same programs, done in seconds."""

from pathlib import Path
from typing import Any

import yaml

from localcluster.images import DEFAULT_TABLE

CHECKOUT = Path(__file__).parents[1]
LITTLE = {"SAMPLES": "2400", "PART_SIZE": "400", "HELD_OUT": "400"}
RUNTIME = "registry.baidubce.com/paddle-operator/paddle-ubuntu"
NO_DATA = {"SAMPLES": "0", "HELD_OUT": "0"}
"""A runtime only: without the data that a volume brings there is nothing to train on."""


def write_tiny_images(file: Path, **settings: dict[str, str]) -> Path:
    """Write the table; `settings` are further variables of the image with that last name."""
    table: dict[str, Any] = yaml.safe_load(DEFAULT_TABLE.read_text())
    for name, entry in table["images"].items():
        folders = entry.get("folders") or {}
        entry["folders"] = {path: str(CHECKOUT / folder) for path, folder in folders.items()}
        own = settings.get(name.rpartition("/")[2].replace("-", "_"), {})
        entry["env"] = {**entry.get("env", {}), **(NO_DATA if name == RUNTIME else LITTLE), **own}
    file.write_text(yaml.safe_dump(table))
    return file
