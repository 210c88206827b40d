"""The dashboard has the types of Grafana's own package: the TypeScript compiler judges.

They are fetched once per user; without node or npm's registry the tests are skipped.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from localcluster.build.environments import cache_folder
from manifests.__main__ import ROOT

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node or npm is missing"
)

PACKAGES = ROOT / "tests" / "live" / "npm"
HOME = "dashboard-types-11.6.0"
DASHBOARD = json.loads((ROOT / "deploy" / "monitoring" / "dashboard.json").read_text())
STRICT = ("--noEmit", "--strict", "--skipLibCheck", "--module", "esnext")


@pytest.fixture(scope="module")
def home() -> Path:
    """A folder with the locked packages, fetched once per user."""
    folder = cache_folder() / HOME
    if not (folder / "node_modules" / ".package-lock.json").exists():
        shutil.copytree(PACKAGES, folder, dirs_exist_ok=True)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot fetch Grafana's types: {done.stderr[-300:]}")
    return folder


def judge(home: Path, folder: Path, dashboard: Any) -> str:
    """What the compiler says of a dashboard; nothing where it fits."""
    source = folder / "dashboard.ts"
    head = "import type { Dashboard } from '@grafana/schema';\nexport const it: Dashboard = "
    source.write_text(f"{head}{json.dumps(dashboard, indent=1)};\n")
    (folder / "node_modules").symlink_to(home / "node_modules")
    compiler = home / "node_modules" / "typescript" / "bin" / "tsc"
    command = ["node", str(compiler), *STRICT, "--moduleResolution", "bundler", str(source)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120).stdout


def test_it_has_grafanas_types(home: Path, tmp_path: Path) -> None:
    assert judge(home, tmp_path, DASHBOARD) == ""


def test_what_has_not_would_be_told(home: Path, tmp_path: Path) -> None:
    panels = [{**panel, "gridPos": {"x": "left"}} for panel in DASHBOARD["panels"]]
    assert "'string' is not assignable to type 'number'" in judge(
        home, tmp_path, {**DASHBOARD, "panels": panels}
    )
