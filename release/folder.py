"""`python -m release.folder SITE IMAGE REPOSITORY`: all that a release publishes, in one folder.

It is build/release-<version>, and the same sources give the same files. SITE is the folder of the
site, IMAGE the operator's image without a tag, and REPOSITORY the address of the project, such as
https://github.com/you/your-fork, below which the files will lie.
"""

import hashlib
import shutil
import sys
from pathlib import Path

from api.constants import RELEASE
from manifests.chart.files import CHART, HOME
from manifests.chart.values import REPOSITORY as PLAIN_IMAGE
from release import krew, sbom, wheel
from release.build import ROOT
from release.pack import pack_tar, read_folder

SUMS = "SHA256SUMS"
PLAIN = ("crd.yaml", "operator-all-namespaces.yaml")


def write(folder: Path, site: Path, image: str, repository: str) -> None:
    """Fill the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    krew.release(f"{repository}/releases/download/v{RELEASE}/{krew.ARCHIVE}", folder)
    wheel.build(folder)
    plain = "---\n".join((ROOT / "manifests" / "v1" / each).read_text() for each in PLAIN)
    named = plain.replace(f"image: {PLAIN_IMAGE}:", f"image: {image}:")
    (folder / "install.yaml").write_text(named)
    (folder / f"{CHART}-{RELEASE}.tgz").write_bytes(pack_tar(_chart(image, repository)))
    (folder / "site.tar.gz").write_bytes(pack_tar(read_folder(site)))
    shutil.copy(ROOT / "examples" / "first.yaml", folder)
    (folder / "sbom.json").write_text(sbom.describe())
    sums = (f"{hashlib.sha256(text).hexdigest()}  {name}\n" for name, text in _files(folder))
    (folder / SUMS).write_text("".join(sums))


def _files(folder: Path) -> list[tuple[str, bytes]]:
    return sorted(read_folder(folder).items())


def _chart(image: str, repository: str) -> dict[str, bytes]:
    """The chart's files, with the release's image and addresses."""
    files = {f"{CHART}/{name}": text for name, text in _files(ROOT / "charts" / CHART)}
    for name, old, new in (
        ("Chart.yaml", HOME, repository),
        ("values.yaml", f"repository: {PLAIN_IMAGE}\n", f"repository: {image}\n"),
    ):
        files[f"{CHART}/{name}"] = files[f"{CHART}/{name}"].replace(old.encode(), new.encode())
    return files


if __name__ == "__main__":
    target = ROOT / "build" / f"release-{RELEASE}"
    write(target, Path(sys.argv[1]), sys.argv[2], sys.argv[3].rstrip("/"))
    sys.stdout.write(f"written: {target}\n")
