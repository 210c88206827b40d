"""Jobs for the real node: shell programs of some lines, and the examples as they are."""

import json
from pathlib import Path
from typing import Any

import yaml

from api.objects import Raw
from tests.e2e.images import BUSYBOX, CHECKOUT, EXAMPLES, Image

LITTLE = {"SAMPLES": "2400", "PART_SIZE": "400", "HELD_OUT": "400", "EPOCHS": "1"}
SLEEP = "trap 'exit 0' TERM; sleep 3600 & wait"
"""Runs until it is stopped, at once: a shell that is PID 1 must heed SIGTERM by itself."""
PROGRAMS = {
    "demo-wide-and-deep": ("wide_and_deep", "train.py"),
    "demo-resnet": ("resnet", "train_fleet.py"),
    "demo-heter": ("heter", "train.py"),
}
"""The folder and the program behind an example's image."""


def template(script: str, **container: Any) -> Raw:
    """A template whose trainer runs a shell script."""
    trainer = {"name": "paddle", "image": BUSYBOX.name, "command": ["sh", "-c", script]}
    return {"spec": {"terminationGracePeriodSeconds": 5, "containers": [trainer | container]}}


def example(file: str, image: Image = EXAMPLES, **env: str) -> Raw:
    """A job of examples/, with an image of the node in place of those that a registry has."""
    path: Path = CHECKOUT / "examples" / file
    # Roles may share a template by an anchor of YAML's: each gets one of its own.
    job: Raw = json.loads(json.dumps(yaml.safe_load(path.read_text())))
    for role in ("ps", "worker", "heter"):
        if role in job["spec"]:
            _place(job["spec"][role]["template"]["spec"]["containers"][0], image, LITTLE | env)
    return job


def _place(container: Raw, image: Image, settings: dict[str, str]) -> None:
    last = container["image"].rpartition("/")[2].partition(":")[0]
    folder, program = PROGRAMS[last]
    container |= {"image": image.name, "workingDir": f"/workspace/{folder}"}
    container.setdefault("command", ["python", program])
    kept = [each for each in container.get("env", []) if each["name"] not in settings]
    container["env"] = kept + [{"name": key, "value": value} for key, value in settings.items()]
