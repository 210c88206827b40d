"""`render` is what the operator makes, field for field, of every example and job of the guide."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.constants import ANNOTATION_WOKEN
from pdj.documents.render import Surroundings, render
from reconcile.model.plan import Settings
from tests.conftest import ELASTIC_TIMEOUT_SECONDS
from tests.live import volcano
from tests.live.lab import CORE, PADDLE_JOBS, Lab, Raw

CHECKOUT = Path(__file__).parents[3]
QUICKSTART_OUTPUT = "/tmp/paddlejob-quickstart"
OURS_ALONE = (".labels", ".annotations", ".data", ".selector", ".matchLabels")
"""Maps to which nobody else adds anything."""
OTHERS_ADD = (".volumes", ".volumeMounts", ".tolerations")
"""Lists to which admission adds: the ServiceAccount's volume, tolerations of lost nodes."""


def texts() -> list[Any]:
    """Every file of the examples and of the guide's test that holds a PaddleJob."""
    places = (CHECKOUT / "examples", CHECKOUT / "tests" / "manuals" / "jobs")
    every = sorted(file for place in places for file in place.rglob("*.yaml"))
    examples = [each for each in every if each.parent.name != "recipes"]  # no node here has room
    files = {f"{each.parent.name}-{each.stem}": each.read_text() for each in examples}
    return [
        pytest.param(text, id=name)
        for name, text in files.items()
        if re.search(r"^kind: PaddleJob$", text, re.MULTILINE)
    ]


def children_of(lab: Lab, name: str) -> dict[tuple[str, str], Raw]:
    found: dict[tuple[str, str], Raw] = {}
    kinds = (("Pod", CORE, "pods"), ("Service", CORE, "services"),
             ("ConfigMap", CORE, "configmaps"), ("PodGroup", volcano.API, "podgroups"))  # fmt: skip
    for kind, api, plural in kinds:
        for each in lab.items(api, plural, f"batch.paddlepaddle.org/job-name={name}"):
            # A list says these once for all of its items.
            version = api.removeprefix("/apis/").removeprefix("/api/")
            typed = {**each, "apiVersion": version, "kind": kind}
            found[(kind, each["metadata"]["name"])] = typed
    return found


def assert_within(rendered: Any, made: Any, path: str) -> None:
    """All that is rendered was made so, and nothing else but the API server's defaults."""
    if isinstance(rendered, dict):
        assert isinstance(made, dict), path
        more = made.keys() - rendered.keys() - {ANNOTATION_WOKEN}
        assert not path.endswith(OURS_ALONE) or not more, f"{path}: {more}"
        for name, value in rendered.items():
            if value not in (None, {}, [], ""):  # it leaves out what is empty
                assert name in made, f"{path}.{name}"
                assert_within(value, made[name], f"{path}.{name}")
    elif isinstance(rendered, list):
        more = made[len(rendered) :]
        assert len(rendered) <= len(made), path
        assert not more or path.endswith(OTHERS_ADD), f"{path}: {more}"
        for at, value in enumerate(rendered):
            assert_within(value, made[at], f"{path}[{at}]")
    else:
        assert rendered == made or str(rendered) == str(made), f"{path}: {rendered!r} {made!r}"


def keep_from_starting(job: Raw) -> None:
    """Pods whose image cannot be had have an address, and take no CPU."""
    for role in ("ps", "worker", "heter"):
        template = job["spec"].get(role, {}).get("template", {"spec": {}})
        for kind in ("initContainers", "containers"):
            for container in template["spec"].get(kind, ()):
                container["image"] = "localhost/none:1"


@pytest.mark.parametrize("text", texts())
def test_rendered_is_what_the_operator_makes(lab: Lab, text: str, tmp_path: Path) -> None:
    own = text.replace(QUICKSTART_OUTPUT, str(tmp_path))
    documents = [each for each in yaml.safe_load_all(own) if each]
    for each in documents:
        each["metadata"].pop("namespace", None)
    job = next(each for each in documents if each["kind"] == "PaddleJob")
    keep_from_starting(job)
    kinds = ("PaddleJob", "PodGroup", "ConfigMap")
    wanted = [each for each in documents if each["kind"] in kinds]
    name = job["metadata"]["name"]
    lab.submit(*wanted)
    group = next((each for each in wanted if each["kind"] == "PodGroup"), None)
    job["metadata"]["namespace"] = lab.namespace

    def when_all_are_made() -> tuple[list[Raw], dict[tuple[str, str], Raw]] | None:
        made = children_of(lab, name)
        uid = lab.get(PADDLE_JOBS, f"paddlejobs/{name}")["metadata"]["uid"]

        def address_of(pod: str, _at: int) -> str:
            found = made.get(("Pod", pod), {}).get("status") or {}
            return str(found.get("podIP") or "")

        settings = Settings(elastic_timeout_seconds=ELASTIC_TIMEOUT_SECONDS)
        around = Surroundings(uid, address_of, settings, group)
        rendered = render(job, datetime.now(UTC), around)
        keys = {(each["kind"], each["metadata"]["name"]) for each in rendered}
        return (rendered, made) if keys and keys == made.keys() else None

    rendered, made = lab.wait(when_all_are_made, f"the children of {name}")
    for child in rendered:
        own = made[(child["kind"], child["metadata"]["name"])]
        assert_within(child, own, f"{child['kind']} {child['metadata']['name']}")
