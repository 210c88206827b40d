"""The command line: `python -m localcluster up | down | images | run | kubeconfig | prune`."""

import argparse
import os
import re
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kube.errors import ApiError
from localcluster.cluster.cluster import check_platform
from localcluster.cluster.config import ClusterConfig
from localcluster.commands import background, ownimages
from localcluster.commands.run import run_files
from localcluster.machine import clock
from localcluster.machine.disk import explain
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.statefolder import DEFAULT_NAME
from localcluster.provision.binaries import ensure_binaries
from localcluster.provision.images import ImageTable
from localcluster.provision.prune import prune

NAME_VARIABLE = "LOCALCLUSTER_NAME"
FIELDS = {
    "nodes": "nodes",
    "capacity": "node_capacity",
    "label": "labels",
    "taint": "taints",
    "images": "images",
    "nfs_root": "nfs_root",
    "host_path_root": "host_path_root",
}
EXPOSURE = """\
Pods are processes of yours: run only manifests that you trust. Their image is this machine's file
system: they can read what you can read. What they write there is removed with them; it stays if it
is on a file system mounted below /, or if this machine allows no namespaces. A hostPath volume is
the machine's own folder, and what is written there stays; --host-path-root puts another folder in
its place. A subPath follows symbolic links to any folder, even links that pods have made.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        check_platform()
        code: int = options.command(options)
    except (LocalClusterError, ApiError, OSError) as error:
        _tell(explain(error))
        return 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once more does not help
        _tell("stopped; the next call goes on from here")
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localcluster",
        description="A Kubernetes cluster of plain processes, for this machine alone.",
    )
    named, sized = (argparse.ArgumentParser(add_help=False) for _ in range(2))
    of = f"the cluster's name (%(default)s); {NAME_VARIABLE} sets it for all commands"
    name = os.environ.get(NAME_VARIABLE) or DEFAULT_NAME
    named.add_argument("--name", type=_name, default=name, help=of)
    _add_cluster_options(sized)
    add = parser.add_subparsers(required=True, metavar="COMMAND").add_parser
    start = "start a cluster in the background"
    up = add("up", help=start, epilog=EXPOSURE, parents=[named, sized])
    up.add_argument("--build-only", action="store_true", help="build the binaries, start nothing")
    up.set_defaults(command=_up)
    stop = "stop the cluster and remove everything that belongs to it"
    add("down", help=stop, parents=[named]).set_defaults(command=_down)
    _add_image_commands(add("images", help="the folders that image names stand for"), named)
    throw_away = "create the objects of manifests in a throw-away cluster, and wait until they end"
    run = add("run", help=throw_away, epilog=EXPOSURE, parents=[sized])
    run.add_argument("files", nargs="+", metavar="FILE", help="manifest, created in this order")
    beside = "a command to run meanwhile, with KUBECONFIG set (repeatable)"
    run.add_argument("--with", dest="beside", action="append", default=[], help=beside)
    run.add_argument(
        "--timeout",
        type=float,
        default=600,
        help="seconds after which to give up if objects have not ended (%(default)s)",
    )
    run.set_defaults(command=_run)
    path = "print the path of the cluster's kubeconfig"
    add("kubeconfig", help=path, parents=[named]).set_defaults(command=_kubeconfig)
    unused = "remove cached builds and environments that were not used for a while"
    old = add("prune", help=unused, description=unused)
    days = "remove those not used for this many days (%(default)s)"
    old.add_argument("--days", type=_days, default=30, help=days)
    old.set_defaults(command=_prune)
    return parser


def _add_image_commands(parser: argparse.ArgumentParser, named: argparse.ArgumentParser) -> None:
    add = parser.add_subparsers(required=True, metavar="COMMAND").add_parser
    program = "let an image name stand for a folder; pods see a copy of it as /workspace"
    new = add("add", help=program, description=program, parents=[named])
    new.add_argument("image", type=_named_folder, metavar="NAME=FOLDER")
    packages = "requirements file: pip installs its packages for this image, besides PaddlePaddle"
    new.add_argument("--requirements", type=Path, metavar="FILE", help=packages)
    version = "the version of PaddlePaddle, of which the first number counts: 2.6.2, 3.3.1"
    new.add_argument("--paddle", default="", metavar="VERSION", help=version)
    new.set_defaults(command=_add_image)
    old = add("remove", help="remove an image that was added", parents=[named])
    old.add_argument("image", metavar="NAME")
    old.set_defaults(command=_remove_image)
    add("list", help="print images with their folders and tables", parents=[named]).set_defaults(
        command=_list_images
    )


def _named_folder(text: str) -> tuple[str, Path]:
    try:
        return ownimages.parse_pair(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _name(text: str) -> str:
    # `down` removes the folder of this name, so the name must not be a path.
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", text):
        raise argparse.ArgumentTypeError(f"not made of a-z, 0-9 and -: {text}")
    return text


def _add_cluster_options(parser: argparse.ArgumentParser) -> None:
    # An option that is not given is absent, so that `up` knows which were given.
    add, usual = partial(parser.add_argument, default=argparse.SUPPRESS), ClusterConfig()
    many: dict[str, Any] = {"action": "append"}
    capacity = "the resources of each node: cpu=8,memory=16Gi,nvidia.com/gpu=4"
    images = "YAML file that says which folders an image name stands for (repeatable)"
    nfs = "a folder that has NFS volumes in <server>/<path> (default: an empty folder)"
    host_path = "the folder below which hostPath volumes are looked up (default: /)"
    add("--nodes", type=_count, help=f"the number of nodes ({usual.nodes})")
    add("--capacity", type=_pairs, metavar="K=V,...", help=capacity)
    add("--label", type=_pairs, metavar="K=V", help="a label of every node (repeatable)", **many)
    add("--taint", metavar="K=V:EFFECT", help="a taint of every node (repeatable)", **many)
    add("--images", type=Path, metavar="FILE", help=images, **many)
    add("--nfs-root", type=Path, metavar="FOLDER", help=nfs)
    add("--host-path-root", type=Path, metavar="FOLDER", help=host_path)


def _days(text: str) -> float:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number of days: {text}")
    return float(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number of nodes: {text}")
    return int(text)


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(name and equals for name, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"not K=V: {text}")
    return {name: value for name, _, value in pairs}


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of ClusterConfig that were given on the command line."""
    given = {field: vars(options)[name] for name, field in FIELDS.items() if name in options}
    if "labels" in given:
        given["labels"] = {k: v for pairs in given["labels"] for k, v in pairs.items()}
    if "images" in given:  # other commands read these paths later, from other working directories
        given["images"] = [table.absolute() for table in given["images"]]
        ImageTable(given["images"])  # raises if a table cannot be read
    return given


def _config(options: argparse.Namespace) -> ClusterConfig:
    return ClusterConfig(**_given(options), report=_tell)


def _refuse_other(options: argparse.Namespace) -> None:
    """Raise LocalClusterError if an option contradicts the running cluster."""
    runs = background.config_of(options.name)
    names = {field: name.replace("_", "-") for name, field in FIELDS.items()}
    other = [f"--{names[field]}" for field, value in _given(options).items()
             if value != getattr(runs, field)]  # fmt: skip
    if other:
        raise LocalClusterError(
            f"cluster {options.name} is already running, with another {', '.join(other)}: stop it"
            " first (python -m localcluster down, or make down), or start another with --name;"
            " python -m localcluster images add changes the images of a running one"
        )


def _up(options: argparse.Namespace) -> int:
    binaries = ensure_binaries(_tell)
    if options.build_only:
        return 0
    started = clock.monotonic()
    if background.start(options.name, _config(options), _tell):
        _tell(f"ready after {clock.monotonic() - started:.1f} s; to use it:")
    else:
        _refuse_other(options)
        pid = background.running_pid(options.name)
        _tell(f"cluster {options.name} is already running (process {pid})")
    print(f"export KUBECONFIG={background.kubeconfig_of(options.name)}")
    print(f"export PATH={binaries}:$PATH")
    return 0


def _prune(options: argparse.Namespace) -> int:
    freed = 0
    for name, size in prune(options.days):
        _tell(f"removed {name}, {size / 1e6:,.0f} MB")
        freed += size
    _tell(f"freed {freed / 1e6:,.0f} MB")
    return 0


def _down(options: argparse.Namespace) -> int:
    was_running = background.stop(options.name, _tell)
    _tell(f"cluster {options.name} {'is stopped' if was_running else 'was not running'}")
    return 0


def _add_image(options: argparse.Namespace) -> int:
    name, folder = options.image
    chosen = options.requirements, _tell, options.paddle
    file = ownimages.add(options.name, name, folder, *chosen)
    _tell(f"from the next pull on, the image {name} is the folder {folder.absolute()}: see {file}")
    return 0


def _remove_image(options: argparse.Namespace) -> int:
    file = ownimages.remove(options.name, options.image)
    _tell(f"{options.image} is no longer in {file}")
    return 0


def _list_images(options: argparse.Namespace) -> int:
    print(ownimages.describe(options.name))
    return 0


def _run(options: argparse.Namespace) -> int:
    return run_files(_config(options), options.files, options.beside, options.timeout)


def _kubeconfig(options: argparse.Namespace) -> int:
    print(background.kubeconfig_of(options.name))
    return 0


def _tell(text: str) -> None:
    # Standard output is for lines that a shell can evaluate.
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
