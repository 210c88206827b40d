"""The client: creates and finds jobs in one namespace of a cluster."""

import copy
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from api.objects import Raw
from kube.clock import Clock
from paddlejob.build import Program, build_training, check, files_of, pack
from paddlejob.connection import Connection
from paddlejob.errors import NotSendable, PaddleJobError, translating
from paddlejob.job import Job
from pdj.act.submit import replace_job, signed, submit, user_name
from pdj.code.bundle import Bundle
from pdj.documents.job import job_of
from pdj.documents.reader import read_documents
from pdj.facts.choice import Choice
from pdj.gather.jobs import Handle, get_job, list_rows


class Client(Connection):
    """Creates and finds jobs. It connects on the first call.

    It uses the kubeconfig that kubectl would use, or, in a pod without one, the cluster of the pod.
    With `local=True`, it starts a cluster of processes with `nodes` nodes on this machine. That
    cluster ends with the client: `close` the client, or use it in a `with`. Only one thread may use
    a client.
    """

    def __init__(
        self,
        namespace: str | None = None,
        *,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        local: bool = False,
        nodes: int = 2,
    ) -> None:
        check(Client.__init__, locals())
        super().__init__(namespace, kubeconfig, context, nodes if local else None)

    def submit(
        self,
        job: str | Path | Mapping[str, Any],
        *,
        code: str | Path | None = None,
        requirements: str | Path | Iterable[str] | None = None,
        index_url: str = "",
        include: str | Iterable[str] = (),
        replace: bool = False,
    ) -> Job:
        """Create a job from a YAML file or an object. `code` is a folder to send with the job.

        The other arguments are those of `train`. Raises PaddleJobError, for example Refused (the
        text names an invalid field) or, without `replace`, AlreadyThere.
        """
        given = check(Client.submit, locals())
        with translating(NotSendable):
            raw = dict(copy.deepcopy(job)) if isinstance(job, Mapping) else _read(job)
            if not isinstance(raw.get("metadata"), dict):
                raise NotSendable("the job has no metadata")
            bundle = pack(given)
        return self._create(raw, bundle, replace)

    def train(
        self,
        function: Program | None,
        *,
        image: str,
        args: Mapping[str, Any] | None = None,
        name: str | None = None,
        workers: int = 1,
        ps: int = 0,
        resources: Mapping[str, Any] | None = None,
        env: Mapping[str, Any] | None = None,
        queue: str | None = None,
        backoff_limit: int | None = None,
        launcher: bool = True,
        code: str | Path | None = None,
        requirements: str | Path | Iterable[str] | None = None,
        index_url: str = "",
        include: str | Iterable[str] = (),
        replace: bool = False,
    ) -> Job:
        """Create a job in which every worker calls `function(**args)`.

        `function` is a function, or `"module:name"` in the folder `code`; None runs the image's own
        command. A function is sent as its source, so it has to import what it uses. `args` are sent
        as JSON. The folder `code` is sent too; its files over 1 MiB only if a pattern of `include`
        matches them.

        `image` needs Python and PaddlePaddle; pip installs `requirements` (lines, or a file) before
        the start, from `index_url`. The default `name` comes from the function, or from the image.
        `ps` is the number of parameter servers. `resources` are the limits of each pod, such as
        {"nvidia.com/gpu": 8}. `queue` is a queue of Volcano. `backoff_limit` is the number of
        restarts after failures. With `ps` or `launcher=False`, the function runs without
        paddle.distributed.launch. `replace` deletes a job of the same name first.
        Raises NotSendable, with the function's name and line, before anything is sent.
        """
        given = check(Client.train, locals())
        with translating(NotSendable):
            bundle = pack(given, files_of(function, code, args or {}))
            raw = build_training(given)
        return self._create(raw, bundle, replace)

    def _create(self, raw: Raw, bundle: Bundle | None, replace: bool) -> Job:
        with translating():
            namespace = raw["metadata"].get("namespace") or self.namespace
            raw = signed(raw, namespace, user_name(self.api))
            config_map, raw = bundle.wrap(raw, warnings.warn) if bundle else (None, raw)
            handle = Handle(self.api, namespace, raw["metadata"].get("name"), Clock())
            instead = partial(replace_job, handle) if replace else None
            made, _ = submit(self.api, config_map, raw, instead)
            return Job(self, made)

    def job(self, name: str) -> Job:
        """The job of this name. Raises PaddleJobError if there is none."""
        if not name or not isinstance(name, str):
            raise PaddleJobError(f"{name!r} is not a name for a job")
        with translating():
            return Job(self, get_job(self.api, self.namespace, name))

    def jobs(
        self,
        *,
        selector: str = "",
        phase: str = "",
        active: bool = False,
        since: float | None = None,
        limit: int | None = None,
        sort: str = "name",
    ) -> list[Job]:
        """The jobs of the namespace that have the labels of `selector`, are in this `phase`, or in
        one of several with commas between them, have not ended (`active`), and were created within
        `since` seconds; the first `limit` by "name", "age", "phase" or "restarts".
        """
        given = check(Client.jobs, locals())
        with translating():
            labels, choice = given.pop("selector"), Choice(**given)
            rows = list_rows(self.api, self.namespace, labels)
            return [Job(self, row) for row in choice.of(rows, Clock().now())[0]]


def _read(file: str | Path) -> Raw:
    documents = read_documents(str(file))
    if len(documents) != 1:
        raise NotSendable(f"{file} holds {len(documents)} objects: submit one job at a time")
    return job_of(documents[0])
