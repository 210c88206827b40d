"""The one-file build runs on a bare Python, in an empty environment and folder."""

import hashlib
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from api.constants import RELEASE
from pdj.act.host import NO_CHECKOUT
from release.build import MAIN, build
from release.krew import TEMPLATE, release

CHECKOUT = Path(__file__).parents[3]
KREW_VERSION = re.compile(r"v\d+\.\d+\.\d+")
URL = "https://example.com/releases/kubectl-pdj.tar.gz"
EXAMPLE = CHECKOUT / "examples" / "heter.yaml"


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, as `make pdj` builds it."""
    target = tmp_path_factory.mktemp("build") / "kubectl-pdj"
    build(target)
    return target


def run(one_file: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it with nothing: isolated, without site-packages, variables or a home."""
    bare = Path(sys.base_prefix, "bin", "python3")
    return subprocess.run(
        [bare, "-I", "-S", one_file, *arguments], env={}, cwd=one_file.parent, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_offline_commands_run(one_file):
    rendered = run(one_file, "render", str(EXAMPLE))
    assert rendered.returncode == 0, rendered.stderr
    assert "\nkind: ConfigMap\n" in rendered.stdout
    assert run(one_file, "lint", str(EXAMPLE)).returncode == 0
    assert one_file.stat().st_mode & 0o111


def test_an_older_python_is_one_line():
    before = "import sys; sys.version_info = (3, 10, 12)\n"
    done = subprocess.run([sys.executable, "-c", before + MAIN], capture_output=True, text=True)
    older = f"error: kubectl pdj needs Python 3.11 or newer, and {sys.executable} is older\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", older)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archive and krew manifest, as `make release` makes them."""
    folder = tmp_path_factory.mktemp("release")
    release(URL, folder)
    return folder


def test_the_krew_manifest_is_that_of_its_archive(released):
    spec = yaml.safe_load((released / "pdj.yaml").read_text())["spec"]
    (platform,) = spec["platforms"]
    archive = (released / "kubectl-pdj.tar.gz").read_bytes()
    assert (platform["uri"], platform["sha256"]) == (URL, hashlib.sha256(archive).hexdigest())
    assert spec["version"] == f"v{RELEASE}"
    assert KREW_VERSION.fullmatch(spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 50
    assert "`python3` on the PATH" in spec["caveats"]


def test_what_krew_installs_of_the_archive_runs(released, tmp_path):
    (platform,) = yaml.safe_load((released / "pdj.yaml").read_text())["spec"]["platforms"]
    with tarfile.open(released / "kubectl-pdj.tar.gz") as archive:
        assert sorted(archive.getnames()) == sorted(each["from"] for each in platform["files"])
    subprocess.run(["tar", "-xzf", released / "kubectl-pdj.tar.gz", "-C", tmp_path], check=True)
    done = run(tmp_path / platform["bin"], "version", "--client")
    assert done.stdout.split()[:2] == ["kubectl-pdj", RELEASE], done


def test_the_manifest_in_the_checkout_is_a_template(released):
    template, made = (
        yaml.safe_load(text.read_text()) for text in (TEMPLATE, released / "pdj.yaml")
    )
    assert template["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    (template_platform,), (platform,) = (each["spec"].pop("platforms") for each in (template, made))
    assert template["spec"] | {"version": made["spec"]["version"]} == made["spec"]
    assert {key for key in platform if platform[key] != template_platform[key]} == {"uri", "sha256"}


def test_the_page_is_in_it(one_file):
    bare = Path(sys.base_prefix, "bin", "python3")
    script = (
        f"import sys; sys.path.insert(0, {str(one_file)!r}); import pdj.ui.server\n"
        "from importlib.resources import files\n"
        "print(files('pdj.ui').joinpath('page', 'index.html').read_text())"
    )
    done = subprocess.run(
        [bare, "-I", "-S", "-c", script], env={}, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("<!doctype html>"), done.stderr


def test_what_takes_a_checkout_says_so(one_file):
    done = run(one_file, "run", "--local", str(EXAMPLE))
    assert done.returncode == 1
    assert done.stderr == f"error: {NO_CHECKOUT}\n"
