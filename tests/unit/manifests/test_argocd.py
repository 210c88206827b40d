"""The health check for Argo CD, run by the interpreter of the Lua that Argo CD speaks (5.1)."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from api.constants import Phase
from api.objects import Raw
from tests.live.debian import missing
from tests.memory.builders import a_job
from tests.memory.kubelet import Kubelet, run_job
from tests.memory.world import World

ROOT = Path(__file__).parents[3]
KEY = "resource.customizations.health.batch.paddlepaddle.org_PaddleJob"
CHECK = yaml.safe_load((ROOT / "deploy/argocd/argocd-cm.yaml").read_text())["data"][KEY]
HEALTH = dict.fromkeys(Phase, "Progressing") | {
    Phase.RUNNING: "Healthy",
    Phase.COMPLETING: "Healthy",
    Phase.COMPLETED: "Healthy",
    Phase.FAILED: "Degraded",
    Phase.SUSPENDED: "Suspended",
}
pytestmark = pytest.mark.skipif(bool(missing("lua5.1")), reason="Debian's lua5.1 is not installed")


def as_lua(value: object) -> str:
    """A value of JSON as Lua writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{json.dumps(k)}]={as_lua(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(map(as_lua, value)) + "}"
    return json.dumps(value) if value is not None else "nil"


def judge(job: Raw) -> tuple[str, str]:
    """Health and message, as Argo CD gets them."""
    script = f"obj = {as_lua(job)}\nlocal function check()\n{CHECK}\nend\nlocal health = check()\n"
    script += 'io.write(health.status, "\\n", health.message)'
    lua = shutil.which("lua5.1")
    assert lua
    done = subprocess.run([lua, "-"], input=script, capture_output=True, text=True, check=False)
    assert not done.stderr
    health, _, message = done.stdout.partition("\n")
    return health, message


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_has_its_health(phase: Phase) -> None:
    job = a_job().with_workers(1).with_status(phase=str(phase), observedGeneration=1).build()
    assert judge(job) == (HEALTH[phase], str(phase))


def test_a_failed_job_says_why() -> None:
    world = World()
    kubelet = Kubelet(world)
    run_job(world, kubelet, a_job().with_workers(1))
    assert judge(world.job())[0] == "Healthy"
    kubelet.see_end("train-worker-0", 3)
    health, message = judge(world.job())
    assert health == "Degraded"
    assert message.startswith("Failed: PodFailed: ")


def test_what_the_operator_has_not_seen_is_progressing() -> None:
    job = a_job().with_workers(1)
    assert judge(job.build())[0] == "Progressing"
    seen = job.with_status(phase="Running", observedGeneration=1).with_metadata(generation=2)
    assert judge(seen.build())[0] == "Progressing"
