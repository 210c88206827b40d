"""The archive of `kubectl pdj` in a release, and the krew manifest for it."""

import hashlib
import tempfile
from pathlib import Path

import yaml

from api.constants import RELEASE
from release.build import ROOT, build
from release.pack import pack_tar

TEMPLATE = Path(__file__).with_name("krew.yaml")
PROGRAM = "kubectl-pdj"
ARCHIVE = f"{PROGRAM}.tar.gz"
MANIFEST = "pdj.yaml"


def release(url: str, folder: Path) -> None:
    """Write the archive, which will be at this address, and the manifest, which has its sha256."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        program = Path(name, PROGRAM)
        build(program)
        files = {PROGRAM: program.read_bytes(), "LICENSE": (ROOT / "LICENSE").read_bytes()}
    archive = pack_tar(files)
    (folder / ARCHIVE).write_bytes(archive)
    manifest = yaml.safe_load(TEMPLATE.read_text())
    manifest["spec"]["version"] = f"v{RELEASE}"
    (platform,) = manifest["spec"]["platforms"]
    platform["uri"] = url
    platform["sha256"] = hashlib.sha256(archive).hexdigest()
    (folder / MANIFEST).write_text(yaml.safe_dump(manifest, sort_keys=False))
