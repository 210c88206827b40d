"""The image table with little to train on: the same programs, done in seconds."""

from pathlib import Path
from typing import Any

import yaml

from localcluster.provision.images import DEFAULT_TABLE

CHECKOUT = Path(__file__).parents[2]
LITTLE = {"SAMPLES": "2400", "PART_SIZE": "400", "HELD_OUT": "400"}
NO_DATA = {"SAMPLES": "0", "HELD_OUT": "0"}
"""For a runtime: without the data that a volume brings there is nothing to train on."""
SETTINGS = {
    "demo-wide-and-deep": {**LITTLE, "EPOCHS": "1"},
    "demo-resnet": {"SAMPLES": "640", "EPOCHS": "1"},
    "paddle-ubuntu": NO_DATA,
}
"""By the image's last name; the others have LITTLE."""


def write_tiny_images(file: Path, **runtime: str) -> Path:
    """Write the table; `runtime` are further variables of the image that is a runtime only."""
    table: dict[str, Any] = yaml.safe_load(DEFAULT_TABLE.read_text())
    for name, entry in table["images"].items():
        last = name.rpartition("/")[2]
        folders = entry.get("folders") or {}
        entry["folders"] = {path: str(CHECKOUT / folder) for path, folder in folders.items()}
        if "requirements" in entry:
            entry["requirements"] = str(CHECKOUT / entry["requirements"])
        entry["env"] = {**entry.get("env", {}), **SETTINGS.get(last, LITTLE)}
        if SETTINGS.get(last) is NO_DATA:
            entry["env"] |= runtime
    file.write_text(yaml.safe_dump(table))
    return file
