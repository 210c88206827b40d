"""The dashboard has the types of Grafana's own package: the TypeScript compiler judges.

`make production` fetches them once per user; without node or npm's registry the tests are skipped.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from manifests.__main__ import ROOT
from tests.live import patience
from tests.live.installers import dashboard_types

TYPES = dashboard_types()
pytestmark = pytest.mark.skipif(
    not (TYPES / ".package-lock.json").exists(),
    reason="no types of Grafana's: python -m tests.live.installers fetches them by npm",
)

DASHBOARD = json.loads((ROOT / "deploy" / "monitoring" / "dashboard.json").read_text())
STRICT = ("--noEmit", "--strict", "--skipLibCheck", "--module", "esnext")


def judge(folder: Path, dashboard: Any) -> str:
    """What the compiler says of a dashboard; nothing where it fits."""
    source = folder / "dashboard.ts"
    head = "import type { Dashboard } from '@grafana/schema';\nexport const it: Dashboard = "
    source.write_text(f"{head}{json.dumps(dashboard, indent=1)};\n")
    (folder / "node_modules").symlink_to(TYPES)
    compiler = TYPES / "typescript" / "bin" / "tsc"
    command = ["node", str(compiler), *STRICT, "--moduleResolution", "bundler", str(source)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=patience.SECONDS
    ).stdout


def test_it_has_grafanas_types(tmp_path: Path) -> None:
    assert judge(tmp_path, DASHBOARD) == ""
