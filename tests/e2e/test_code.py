"""A folder without an image on a real node: how soon it trains, and where little is allowed."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.images import EXAMPLES_3, OPERATOR
from tests.live.lab import Lab
from tests.live.pdj import Tool, code_maps
from tests.live.wheel import write_wheel

CHANGE_SECONDS = 3.0
"""For a change of the program. A kubelet looks once a second, and lets a pod go at its second look
after the end; a job that begins before that is restarted once: StaleConfigMap."""
SECONDS = 25.0
"""From the command to the first line of the later worker. It takes 2 to 5 on a quiet machine of two
cores; whoever has to wait until a kubelet tries again by itself takes more than this."""
WORKERS, MANY = 2, 20
LAUNCH = ("python", "-m", "paddle.distributed.launch", "train.py")
COMMANDS = {"python": ("python", "train.py"), "launcher": LAUNCH}
IMPORTS = (
    "import demo, paddle\nprint('trained with', demo.__name__, paddle.ones([2]).sum().item())\n"
)
ENFORCED = "pod-security.kubernetes.io/enforce=restricted"
POD = "spec.worker.template.spec"
TRAINER = f"{POD}.containers[0]"
RESTRICTED = (
    *("--set", f"{POD}.securityContext.runAsNonRoot=true"),
    *("--set", f"{POD}.securityContext.runAsUser=1000"),
    *("--set", f"{POD}.securityContext.seccompProfile.type=RuntimeDefault"),
    *("--set", f"{TRAINER}.securityContext.allowPrivilegeEscalation=false"),
    *("--set", f'{TRAINER}.securityContext.capabilities={{"drop":["ALL"]}}'),
    *("--set", f"{TRAINER}.securityContext.readOnlyRootFilesystem=true"),
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder that was empty before somebody has written one program into it."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text("print('step', 1)\n")
    return folder


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Do not wait for a command when the test's time is up."""
    try:
        yield
    except BaseException:
        process.kill()
        raise


def seconds_to_first_lines(tool: Tool, name: str, program: Path, *command: str) -> float:
    """Send the folder; seconds until both workers have written what its program prints now."""
    said = (program / "train.py").read_text().split("'")[1]
    given = ("--name", name, "--code", str(program), "--workers", str(WORKERS), "--replace")
    began, reached = time.monotonic(), dict[str, float]()
    words = ("run", EXAMPLES_3.name, *given, "--wait", "--", *command)
    with tool.start(*words) as process, ended(process):
        assert process.stdout and process.stderr
        for line in process.stdout:
            worker, _, text = line.decode().partition(" | ")
            if text.startswith(said):
                reached.setdefault(worker.strip(), time.monotonic() - began)
        notes = process.stderr.read().decode()
    assert (process.returncode, sorted(reached)) == (0, ["worker-0", "worker-1"]), notes
    return max(reached.values())


@pytest.mark.parametrize("how", COMMANDS)
def test_a_folder_trains_soon_and_again_after_a_change(lab, program, how, record_property):
    tool, seconds = Tool(lab), []
    for step in ("first", "changed", "changed again"):
        (program / "train.py").write_text(f"print('{step}', 1)\n")
        seconds.append(seconds_to_first_lines(tool, "soon", program, *COMMANDS[how]))
        time.sleep(CHANGE_SECONDS)
    record_property("seconds to the first line of both", [round(each, 2) for each in seconds])
    assert max(seconds) <= SECONDS


def test_many_workers_share_one_config_map(lab: Lab, program: Path, record_property) -> None:
    tool, began = Tool(lab), time.monotonic()
    given = ("--name", "many", "--code", str(program), "--workers", str(MANY))
    out = tool.ok("run", EXAMPLES_3.name, *given, "--wait", "--", "python", "train.py")
    record_property("seconds", round(time.monotonic() - began, 1))
    _, *lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert sorted(lines) == sorted([f"worker-{n}", "| step 1"] for n in range(MANY))
    (only,) = code_maps(lab, "many")
    volumes = [each for pod in lab.pods("many") for each in pod["spec"]["volumes"]]
    named = [each["configMap"]["name"] for each in volumes if each["name"] == "pdj-code"]
    assert named == [only["metadata"]["name"]] * MANY


def test_a_restricted_pod_with_a_read_only_root_trains(lab, program, tmp_path):
    lab.cluster.kubectl("label", "namespace", lab.namespace, ENFORCED)
    (program / "train.py").write_text(IMPORTS)
    (tmp_path / "requirements.txt").write_text("demo\n")
    given = ("--name", "tight", "--code", str(program), "--workers", str(WORKERS))
    packages = ("--requirements", str(tmp_path / "requirements.txt"))
    place = program / "simple" / "demo"
    place.mkdir(parents=True)
    name = write_wheel(place).name
    (place / "index.html").write_text(f'<a href="{name}">{name}</a>')
    index = ("--index-url", "file:///workspace/simple")
    words = (*given, *packages, *index, *RESTRICTED, "--backoff-limit", "0", "--wait")
    done = Tool(lab).run("run", EXAMPLES_3.name, *words, "--", *LAUNCH)
    assert done.code == 0, done
    said = [line for line in done.out.splitlines() if "trained with" in line]
    assert sorted(said) == [f"worker-{n} | trained with demo 2.0" for n in range(WORKERS)]


def test_an_image_without_pip(lab: Lab, program: Path, tmp_path: Path) -> None:
    tool = Tool(lab)
    given = ("run", OPERATOR.name, "--name", "pipless", "--code", str(program))
    done = tool.run(*given, "--wait", "--", "python", "train.py")
    assert (done.code, done.out.split("| ")[-1]) == (0, "step 1\n"), done
    (tmp_path / "requirements.txt").write_text("demo\n")
    packages = ("--requirements", str(tmp_path / "requirements.txt"), "--backoff-limit", "0")
    done = tool.run(*given, *packages, "--replace", "--wait", "--", "python", "train.py")
    assert done.code == 1, done
    (message,) = {each["message"] for each in lab.status("pipless")["failures"]}
    assert "has no pip, which requirements need" in message
    assert "has no pip, which requirements need" in tool.ok("explain", "pipless")
