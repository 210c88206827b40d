"""`python -m release.krew URL FOLDER`: the archive of a release, and the krew manifest for it.

URL is the address at which the archive will be published. The manifest contains the URL and the
archive's sha256.
"""

import hashlib
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from release.build import ROOT, build, project_version

TEMPLATE = Path(__file__).with_name("krew.yaml")
PROGRAM = "kubectl-pdj"
ARCHIVE = f"{PROGRAM}.tar.gz"
MANIFEST = "pdj.yaml"


def release(url: str, folder: Path) -> None:
    """Write archive and manifest into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / ARCHIVE
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive, "w:gz") as made:
        program = Path(name, PROGRAM)
        build(program)
        made.add(program, PROGRAM)
        made.add(ROOT / "LICENSE", "LICENSE")
    manifest = yaml.safe_load(TEMPLATE.read_text())
    manifest["spec"]["version"] = f"v{project_version()}"
    (platform,) = manifest["spec"]["platforms"]
    platform["uri"] = url
    platform["sha256"] = hashlib.sha256(archive.read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(yaml.safe_dump(manifest, sort_keys=False))


def main() -> None:
    """The command line."""
    url, folder = sys.argv[1], Path(sys.argv[2])
    release(url, folder)
    sys.stdout.write(f"written: {folder / ARCHIVE}, {folder / MANIFEST}\n")


if __name__ == "__main__":
    main()
