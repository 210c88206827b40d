"""The examples' files, and the Python that has what their programs need."""

from pathlib import Path
from typing import Any

import yaml

from localcluster.provision.environments import ensure_environment

EXAMPLES = Path(__file__).parents[2] / "examples"


def python() -> str:
    """That of PaddlePaddle 2.6.2."""
    return str(ensure_environment("examples") / "bin" / "python")


def example(file: str, **settings: str) -> dict[str, Any]:
    """The job of a file in examples/, with these variables in every container."""
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / file).read_text())
    for role in {"ps", "worker", "heter"} & job["spec"].keys():
        for container in job["spec"][role]["template"]["spec"]["containers"]:
            kept = [entry for entry in container.get("env", ()) if entry["name"] not in settings]
            container["env"] = kept + [{"name": n, "value": v} for n, v in settings.items()]
    return job
