"""Kubeflow's TrainerClient on PaddleJobs: `pip install 'paddlejob[kubeflow]'`, kubeflow 0.5.

The only runtimes are `paddle-distributed` and `paddle-ps`; those in the cluster are not used. A
node of Kubeflow is a worker here, for example node-0 is worker-0.
"""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from kubeflow.trainer import TrainerClient as TheirClient
from kubeflow.trainer.backends.base import RuntimeBackend
from kubeflow.trainer.constants import constants
from kubeflow.trainer.types import types

from api.constants import Phase
from api.objects import Raw, parse_time
from kube.clock import Clock
from paddlejob.client import Client
from paddlejob.errors import translating
from paddlejob.job import Job
from pdj.errors import Problem
from pdj.facts.facts import EVENTS
from pdj.facts.picture import JobPicture
from pdj.gather.facts import gather
from pdj.gather.jobs import look

IMAGE = "paddlepaddle/paddle:3.3.1"
DISTRIBUTED, SERVERS = "paddle-distributed", "paddle-ps"
COMPLETE = {constants.TRAINJOB_COMPLETE}
NODE_0 = f"{constants.NODE}-0"
STATUSES = {
    Phase.COMPLETED: constants.TRAINJOB_COMPLETE,
    Phase.FAILED: constants.TRAINJOB_FAILED,
    **dict.fromkeys(
        (Phase.RUNNING, Phase.SCALING, Phase.COMPLETING, Phase.RESTARTING),
        constants.TRAINJOB_RUNNING,
    ),
}
"""All other phases count as Created."""
ALIASES = {"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"}
"""Kubeflow's short names of resources."""


class TrainerClient(TheirClient):
    """Kubeflow's client on PaddleJobs. Without `client`, it uses the cluster that kubectl uses."""

    def __init__(self, client: Client | None = None) -> None:
        self.backend = PaddleBackend(client or Client())


class PaddleBackend(RuntimeBackend):
    """Creates a PaddleJob for a CustomTrainer or CustomTrainerContainer of Kubeflow."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list_runtimes(self) -> list[Any]:
        """The two runtimes."""
        return [self.get_runtime(DISTRIBUTED), self.get_runtime(SERVERS)]

    def get_runtime(self, name: str) -> Any:
        """One of the two runtimes. Raises ValueError for another name."""
        if name not in (DISTRIBUTED, SERVERS):
            raise ValueError(f"there is no runtime {name}, only {DISTRIBUTED} and {SERVERS}")
        trainer = types.RuntimeTrainer(types.TrainerType.CUSTOM_TRAINER, "paddle", IMAGE)
        trainer.set_command(("python", "-m", "paddle.distributed.launch"))
        return types.Runtime(name, trainer, types.RuntimeKind.CLUSTER_TRAINING_RUNTIME)

    def get_runtime_packages(self, runtime: Any) -> None:
        """Raises NotImplementedError: the packages are those of the image."""
        raise NotImplementedError(f"the packages of {runtime.name} are those of the job's image")

    def train(
        self,
        runtime: Any = None,
        initializer: Any = None,
        trainer: Any = None,
        options: list[Any] | None = None,
    ) -> str:
        """Create the job; returns its name. Raises NotImplementedError for other trainers."""
        if initializer is not None:
            raise NotImplementedError(
                "initializers are not supported: mount the data, or read it in the program"
            )
        if not isinstance(trainer, types.CustomTrainer | types.CustomTrainerContainer):
            raise NotImplementedError("trainer must be a CustomTrainer or a CustomTrainerContainer")
        named = runtime or DISTRIBUTED
        runtime = self.get_runtime(named if isinstance(named, str) else named.name)
        spec: Raw = {"metadata": {"name": f"p{uuid.uuid4().hex[:11]}"}}
        for option in options or ():  # raises if the option is for another backend
            option(spec, trainer, self)
        nodes = 1 if trainer.num_nodes is None else trainer.num_nodes
        wish: Raw = {
            "name": spec["metadata"]["name"],
            "image": trainer.image or runtime.trainer.image,
            "workers": nodes,
            "ps": nodes if runtime.name == SERVERS else 0,
            "env": trainer.env or {},
            "resources": {
                ALIASES.get(name.lower(), name): value
                for name, value in (trainer.resources_per_node or {}).items()
            },
        }
        if isinstance(trainer, types.CustomTrainer):
            wish |= {"args": trainer.func_args, "requirements": trainer.packages_to_install}
            wish |= {"index_url": _index_url(trainer)}
        return self._client.train(getattr(trainer, "func", None), **wish).name

    def list_jobs(self, runtime: Any = None) -> list[Any]:
        """All jobs of the namespace, also those that were not created with this client."""
        found = [self._read(job) for job in self._client.jobs()]
        return [each for each in found if runtime is None or each.runtime.name == runtime.name]

    def get_job(self, name: str) -> Any:
        """The job, with a step for each of its pods that exist now."""
        return self._read(self._client.job(name))

    def _look(self, job: Job) -> JobPicture:
        with translating():
            return look(self._client.api, job.namespace, job.name)

    def _read(self, job: Job) -> Any:
        picture = self._look(job)
        read = picture.job
        steps = []
        for pod in picture.pods:
            role, _, index = str(pod["metadata"]["name"])[len(job.name) + 1 :].partition("-")
            step = f"{constants.NODE if role == 'worker' else role}-{index}"
            phase = (pod.get("status") or {}).get("phase")
            steps.append(types.Step(step, phase, pod["metadata"]["name"]))
        roles = {str(role): spec.replicas for role, spec in read.spec.roles.items()}
        return types.TrainJob(
            name=job.name,
            runtime=self.get_runtime(SERVERS if "ps" in roles else DISTRIBUTED),
            steps=steps,
            num_nodes=roles.get("worker", 0),
            creation_timestamp=read.created_at,
            status=STATUSES.get(read.status.phase, constants.TRAINJOB_CREATED),
        )

    def get_job_logs(self, name: str, follow: bool = False, step: str = NODE_0) -> Iterator[str]:
        """The log lines of one pod; `step` is its name in Kubeflow, where node-0 is worker-0."""
        kind, _, index = step.partition("-")
        role = "worker" if kind == constants.NODE else kind
        if role not in ("worker", "ps") or not index.isdecimal():
            raise ValueError(f"there is no step {step!r}: node-0, node-1, ..., ps-0, ...")
        choice: Raw = {"role": role, "index": int(index), "no_prefix": True}
        return self._client.job(name).logs(follow, **choice)

    def get_job_events(self, name: str) -> list[Any]:
        """The last Events of the job, and of 16 of its pods; rather of those that do not run."""
        picture = self._look(self._client.job(name))
        with translating():
            facts = gather(self._client.api, picture, only=EVENTS)
            answers, events = facts.answers.values(), facts.events
            problem = next((each.problem for each in answers if each.problem), "")
            if problem and not events:
                raise Problem(problem)
        return [
            types.Event(
                involved_object_kind=each.kind,
                involved_object_name=each.name,
                message=each.message,
                reason=each.reason,
                event_time=parse_time(each.time),
            )
            for each in events
        ]

    def wait_for_job_status(
        self,
        name: str,
        status: set[str] = COMPLETE,
        timeout: int = 600,
        polling_interval: int = 2,
        callbacks: list[Callable[[Any], None]] | None = None,
    ) -> Any:
        """Wait until the job has one of these statuses, checking every `polling_interval` seconds.

        Raises TimeoutError, and RuntimeError if the job has failed and Failed is not in `status`.
        """
        if not 0 < polling_interval < timeout:
            raise ValueError("polling_interval must be more than 0 and less than timeout")
        if unknown := status - {*STATUSES.values(), constants.TRAINJOB_CREATED}:
            raise ValueError(f"there is no status {', '.join(sorted(unknown))}")
        clock = Clock()
        end = clock.monotonic() + timeout
        while clock.monotonic() < end:
            job = self.get_job(name)
            for callback in callbacks or ():
                callback(job)
            if job.status in status:
                return job
            if job.status == constants.TRAINJOB_FAILED:
                raise RuntimeError(f"{name} has failed: {self._client.job(name).reason}")
            clock.wait(threading.Event(), polling_interval)
        raise TimeoutError(f"{name}: not {' or '.join(sorted(status))} within {timeout} s")

    def delete_job(self, name: str) -> None:
        """Delete the job, without waiting until it is gone."""
        self._client.job(name).delete(wait=False)


def _index_url(trainer: Any) -> str:
    """The package index for pip; empty for the image's default."""
    urls = trainer.pip_index_urls or []
    if not trainer.packages_to_install or urls == constants.DEFAULT_PIP_INDEX_URLS:
        return ""
    if len(urls) > 1:
        raise NotImplementedError("pip_index_urls: only one is possible; put others into pip.conf")
    return str(urls[0]) if urls else ""
