"""The images of the real node, built without Docker: buildah, and an archive of each.

An archive lies in the user's cache under a name made of what is in it, so it is built once; older
ones of the same image go. No registry is asked: Debian's own Python stands in for the base image
`python`, under the same name, so that the Dockerfiles are built as they are.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from localcluster.machine.report import Report, run_to_end, tell
from localcluster.machine.statefolder import remove_tree
from localcluster.provision.binaries import ensure_binaries
from localcluster.provision.environments import cache_folder
from manifests.operator import IMAGE

CHECKOUT = Path(__file__).parents[2]
DOCKERFILES = Path(__file__).parent / "dockerfiles"
PYTHON = "python:3.11.14-slim-bookworm"
BASE = f"docker.io/library/{PYTHON}"
BASE_PACKAGES = "python3,python3-venv,python3-pip,python-is-python3,ca-certificates"
BASE_DOCKERFILE = """\
FROM scratch
ADD base.tar /
COPY pip.conf /etc/pip.conf
ENV PATH=/usr/bin:/bin
"""
BUILD_PREFIX = "build-"
# Where pip finds its certificates and packages on this machine is for pip in the images as well.
CERTIFICATES = (Path("/etc/ssl/certs"), Path("/usr/share/ca-certificates"))
LOCAL_CERTIFICATES = Path("/usr/local/share/ca-certificates")


@dataclass(frozen=True)
class Image:
    """An image: its name, its Dockerfile with arguments, what of the checkout it is made of."""

    name: str
    dockerfile: Path
    sources: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        return self.name.rpartition("/")[2].partition(":")[0]

    def archive(self) -> Path:
        """Where it belongs, built or not."""
        digest = hashlib.sha256(" ".join([BASE, BASE_PACKAGES, *self.arguments]).encode())
        for path in self._files():
            digest.update(str(path.relative_to(CHECKOUT)).encode() + path.read_bytes())
        return archive_path(self.stem, digest.hexdigest())

    def _files(self) -> Iterator[Path]:
        yield self.dockerfile
        for source in self.sources:
            path = CHECKOUT / source
            found = sorted(path.rglob("*")) if path.is_dir() else [path]
            yield from (each for each in found if each.is_file() and each.suffix != ".pyc")


OPERATOR = Image(
    f"docker.io/library/{IMAGE}",
    CHECKOUT / "Dockerfile",
    ("requirements/operator.txt", "api", "kube", "metrics", "reconcile", "controller"),
)
EXAMPLES = Image(
    "localhost/examples:1",
    DOCKERFILES / "examples",
    ("requirements/examples.txt", "examples/wide_and_deep", "examples/resnet", "examples/heter"),
)
EXAMPLES_3 = Image(
    "localhost/examples-3:1",
    DOCKERFILES / "examples",
    ("requirements/examples-3.txt", "examples/wide_and_deep", "examples/resnet"),
    ("LOCK=requirements/examples-3.txt",),
)
"""The same with PaddlePaddle 3."""
BUSYBOX = Image("docker.io/library/busybox:1", DOCKERFILES / "busybox")
PAUSE = Image("localhost/pause:1", DOCKERFILES / "pause")
ETCD = Image("quay.io/coreos/etcd:v3.6.8", DOCKERFILES / "etcd")
IMAGES = (PAUSE, BUSYBOX, OPERATOR, ETCD, EXAMPLES, EXAMPLES_3)


def archive_path(stem: str, digest: str) -> Path:
    """Where an image's archive belongs, by what it is made of."""
    return cache_folder() / "e2e" / f"{stem}-{digest[:12]}.tar"


def base_archive() -> Path:
    """Where that of the base image belongs."""
    made_of = f"{BASE} {BASE_PACKAGES} {BASE_DOCKERFILE} {pip_settings()}"
    return archive_path("python", hashlib.sha256(made_of.encode()).hexdigest())


def ensure_images(report: Report = tell) -> list[Path]:
    """The archives of all images; builds those that are missing: some minutes, once."""
    with Builder.temporary(report) as builder:
        for image in IMAGES:
            if not image.archive().exists():
                builder.build(image)
        if not base_archive().exists():
            builder.ensure_base()
    return [image.archive() for image in IMAGES]


class Builder:
    """buildah in a folder of its own, which goes at the end."""

    def __init__(self, folder: Path, report: Report) -> None:
        self._folder = folder
        self._report = report
        self._has_base = False

    @classmethod
    @contextmanager
    def temporary(cls, report: Report) -> Iterator["Builder"]:
        """The one builder of this user's images, whose layers are gone after the block."""
        home = base_archive().parent
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / "lock"):
            for left in home.glob(f"{BUILD_PREFIX}*"):  # by a build that was killed
                remove_tree(left)
            with tempfile.TemporaryDirectory(dir=home, prefix=BUILD_PREFIX) as folder:
                yield cls(Path(folder), report)

    def build(self, image: Image, context: Path | None = None) -> None:
        """Build the image and write its archive, in one step, in place of older ones.

        `context` is a folder with the same sources as the checkout, to build from instead.
        """
        if "FROM scratch" not in image.dockerfile.read_text():
            self.ensure_base()
        archive = image.archive()
        self._buildah(
            f"building {image.name}",
            *("bud", "--isolation=chroot", "--layers=false", "--pull-never", "--quiet"),
            *(f"--volume={path}:{path}:ro" for path in self._mounts()),
            *("--timestamp=0", f"--build-arg=BASE={BASE}"),
            *(f"--build-arg={each}" for each in image.arguments),
            *([] if image is OPERATOR else ["--ignorefile=/dev/null"]),
            *(f"--tag={image.name}", f"--file={image.dockerfile}"),
            str(context or self._context(image)),
        )
        self._write(image.name, archive)

    def image_id(self, name: str) -> str:
        """The digest of an image's configuration, which names each layer by its content."""
        return self._buildah(f"digest of {name}", "images", "--quiet", "--no-trunc", name)

    def remove(self, name: str) -> None:
        self._buildah(f"removing {name}", "rmi", name)

    def _write(self, name: str, archive: Path) -> None:
        archive.parent.mkdir(parents=True, exist_ok=True)
        unfinished = archive.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        target = f"docker-archive:{unfinished}:{name}"
        self._buildah(f"writing {name}", "push", "--quiet", name, target)
        for old in archive.parent.glob(f"{archive.name.rpartition('-')[0]}-????????????.tar"):
            old.unlink()
        unfinished.replace(archive)

    def _context(self, image: Image) -> Path:
        """What the Dockerfile may copy: the checkout, or programs of this machine."""
        if image.sources:
            return CHECKOUT
        context = self._folder / "context"
        context.mkdir(exist_ok=True)
        for program in (Path("/bin/busybox"), ensure_binaries(self._report) / "etcd"):
            shutil.copy(program, context)
        return context

    def ensure_base(self) -> None:
        """Have the image of which the others are made, from its archive."""
        if self._has_base:
            return
        archive = base_archive()
        if not archive.exists():
            self._build_base(archive)
        self._buildah(f"reading {BASE}", "pull", "--quiet", f"docker-archive:{archive}")
        self._has_base = True

    def _build_base(self, archive: Path) -> None:
        context = self._folder / "base"
        context.mkdir()
        debian = ("mmdebstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", "bookworm")
        self._run("a Debian with Python", *debian, str(context / "base.tar"))
        (context / "pip.conf").write_text(pip_settings())
        (context / "Dockerfile").write_text(BASE_DOCKERFILE)
        build = ("bud", "--isolation=chroot", "--quiet", f"--tag={BASE}", str(context))
        self._buildah(f"building {BASE}", *build)
        shutil.rmtree(context)
        self._write(BASE, archive)

    def _mounts(self) -> list[Path]:
        wanted = [*CERTIFICATES, LOCAL_CERTIFICATES, *find_links()]
        return [path for path in wanted if path.is_dir()]

    def _buildah(self, title: str, *arguments: str) -> str:
        store = [f"--root={self._folder / 'store'}", f"--runroot={self._folder / 'run'}"]
        return self._run(title, "buildah", "--storage-driver=vfs", *store, *arguments)

    def _run(self, title: str, *command: str) -> str:
        code, said = run_to_end(command, title, self._report)
        if code:
            last = "\n".join(said.splitlines()[-20:])
            raise LocalClusterError(f"{title} failed ({code}):\n{last}")
        return said.strip()


def pip_settings() -> str:
    """This machine's settings of pip, as a file: where it finds packages and certificates."""
    lines = [f"{key} = {value}" for key, value in _pip_config().items()]
    return "\n".join(["[global]", *lines, ""])


def find_links() -> list[Path]:
    """The folders of wheels that pip knows here."""
    return [Path(each) for each in _pip_config().get("find-links", "").split()]


def _pip_config() -> dict[str, str]:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    wanted = ("cert", "find-links", "index-url", "extra-index-url", "trusted-host", "proxy")
    pairs = (line.partition("=") for line in listed.stdout.splitlines())
    values = {key.rpartition(".")[2]: value.strip("'\"") for key, _, value in pairs}
    return {key: value for key, value in values.items() if key in wanted}
