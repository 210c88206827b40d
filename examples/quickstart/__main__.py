"""`make run`: starts a cluster, trains a model in it, and shows what happens.

Starts a local Kubernetes control plane and node, installs the CRD and the operator's own
ServiceAccount and roles, runs the operator with that account's token, submits a PaddleJob and
follows it. The exit code is 0 if the job completes, 130 if the run is interrupted, and 1 otherwise.
If the job fails or takes too long, it is explained.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from examples.quickstart.follow import follow
from localcluster import Cluster, ClusterConfig
from localcluster.commands.manifests import create_objects
from localcluster.commands.operator import install_operator, start_operator
from localcluster.machine.disk import explain
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.report import tell
from localcluster.machine.together import together
from localcluster.node.runtime.spawner import need_isolation
from localcluster.provision.binaries import ensure_binaries
from localcluster.provision.environments import ensure_environment
from localcluster.provision.images import ImageTable, check_servers, images_of
from localcluster.provision.training import training

JOB = Path(__file__).with_name("job.yaml")
COLLECTIVE_JOB = Path(__file__).with_name("collective.yaml")
"""The job that runs if this machine's PaddlePaddle has no parameter servers."""
OUTPUT = Path("/tmp/paddlejob-quickstart")
"""The folder in which these jobs save the model, as their files say."""
NOT_LINUX = (
    "This runs Kubernetes as plain processes, which needs Linux (127.0.0.0/8 as addresses, mount\n"
    "namespaces). Elsewhere, install the operator in a cluster of your own, for example kind or\n"
    "minikube: README.md says how."
)


def main() -> int:
    """Run the quickstart; returns the process's exit code."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="the PaddleJob to submit")
    images = "image table, for your own programs (repeatable)"
    parser.add_argument("--images", type=Path, action="append", default=[], help=images)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for the job")
    options = parser.parse_args()
    if sys.platform != "linux":
        print(NOT_LINUX)
        return 1
    try:
        return run(options.file or default_job(), options.timeout, options.images)
    except (LocalClusterError, OSError) as error:
        print(f"error: {explain(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once more does not help
        print("stopped; nothing is left running; make run goes on from here", file=sys.stderr)
        return 130


def run(file: Path, timeout_seconds: float, images: Sequence[Path] = ()) -> int:
    """Run one job in a new local cluster, which is gone afterwards; returns the exit code."""
    started = time.monotonic()
    documents = read_documents(file)
    job = find_job(documents, file)
    name = job["metadata"]["name"]
    namespace = job["metadata"].get("namespace") or "default"
    need_isolation()
    check_images(job, ImageTable(list(images)))
    check_servers(documents, ImageTable(list(images)))
    together(ensure_binaries, lambda: ensure_environment("examples"))
    say(started, "starting etcd, kube-apiserver, controller-manager, scheduler and a node")
    with Cluster(ClusterConfig(nodes=1, images=images)) as cluster:
        say(started, "installing the CRD, the operator's account and its roles")
        install_operator(cluster)
        say(started, "starting the operator")
        start_operator(cluster)
        say(started, f"kubectl create -f {file}")
        print(create_objects(cluster, documents, namespace), end="")
        return follow(cluster, namespace, name, timeout_seconds)


def read_documents(file: Path) -> list[dict[str, Any]]:
    """The file's documents that are mappings; raises LocalClusterError if it cannot be read."""
    try:
        text = file.read_text().replace(str(OUTPUT), str(own_output()))
        documents = list(yaml.safe_load_all(text))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise LocalClusterError(f"cannot read {file}: {error}") from error
    return [each for each in documents if isinstance(each, dict)]


def own_output() -> Path:
    """OUTPUT, or a folder beside it if that one is another user's."""
    is_others = OUTPUT.exists() and OUTPUT.stat().st_uid != os.getuid()
    return OUTPUT.with_name(f"{OUTPUT.name}-{os.getuid()}") if is_others else OUTPUT


def find_job(documents: list[dict[str, Any]], file: Path) -> dict[str, Any]:
    """The first PaddleJob with a name; raises LocalClusterError if there is none."""
    for document in documents:
        metadata = document.get("metadata")
        has_name = isinstance(metadata, dict) and metadata.get("name")
        if document.get("kind") == "PaddleJob" and has_name:
            return document
    raise LocalClusterError(f"no PaddleJob with a name in {file}")


def check_images(job: dict[str, Any], table: ImageTable) -> None:
    """Raise LocalClusterError if the job names an image that this local cluster does not have."""
    for image in images_of(job):
        if table.find(image) is None:
            raise LocalClusterError(f"image {table.missing(image)}")


def default_job() -> Path:
    """The job with parameter servers if it can run here, else COLLECTIVE_JOB; prints why."""
    why = training().why_no_servers
    if not why:
        return JOB
    print(f"{why}. Until then this trains collectively.")
    return COLLECTIVE_JOB


def say(started: float, what: str) -> None:
    """Print a line of progress, with the seconds since the start."""
    tell(f"[{time.monotonic() - started:5.1f} s] {what}")


if __name__ == "__main__":
    sys.exit(main())
