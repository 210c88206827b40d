"""The paths of the page's server, and the answers."""

import json
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.catalogue.meaning import LANGUAGES
from api.constants import GROUP, PLURAL
from api.objects import Raw, format_micro_time, uid_of
from kube.errors import ApiError
from pdj.act import change
from pdj.act.submit import user_name
from pdj.errors import Problem, Usage
from pdj.facts.picture import read_job
from pdj.gather.jobs import Handle, get_job
from pdj.gather.logs import Wish
from pdj.gather.progress import TrainingReader
from pdj.session import Session
from pdj.text.compare import compare, draw_pictures
from pdj.text.terminal import plain_values
from pdj.ui.encoding import describe_problem, encode
from pdj.ui.feeds import JobFeed, JobsFeed, LogFeed
from pdj.ui.stream import StreamedFeed

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class App:
    """The application. An empty `namespace` means all; `language` is the page's default."""

    def __init__(self, session: Session, namespace: str, language: str) -> None:
        self._login = session.login
        target = self._login.open()[1]
        self._clock = session.clock
        self._namespace = namespace
        self._about = {
            "context": target.context,
            "server": str(target.cluster.get("server") or ""),
            "namespace": namespace,
            "language": language,
        }
        page = files(__package__).joinpath("page")
        self._assets = {each.name: each.read_bytes() for each in page.iterdir()}

    def build(self) -> Starlette:
        """The routes."""
        job = "/api/jobs/{namespace}/{name}"
        return Starlette(
            routes=[
                Route("/", self._asset),
                Route("/assets/{name}", self._asset),
                Route("/api/about", self._tell_about),
                Route("/api/me", self._tell_me),
                Route("/api/jobs", self._follow_jobs),
                Route(job, self._follow_job),
                Route(f"{job}/log", self._follow_log),
                Route(f"{job}/yaml", self._show_yaml),
                Route(f"{job}/beside/{{other}}", self._compare),
                Route(f"{job}/rights", self._tell_rights),
                Route(f"{job}/{{action}}", self._act, methods=["POST"]),
            ],
            exception_handlers=dict.fromkeys((ApiError, Problem, Exception), _refuse),
        )

    def _asset(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in self._assets:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        return Response(self._assets[name], media_type=TYPES[name.rpartition(".")[2]])

    def _tell_about(self, _request: Request) -> Response:
        return _json(self._about)

    def _tell_me(self, _request: Request) -> Response:
        return _json({"name": user_name(self._login.client())})

    def _follow_jobs(self, _request: Request) -> StreamedFeed:
        return StreamedFeed(lambda: JobsFeed(self._login.client(), self._namespace, self._clock))

    def _follow_job(self, request: Request) -> StreamedFeed:
        language = _language(request)
        return StreamedFeed(lambda: JobFeed(self._handle(request), language))

    def _follow_log(self, request: Request) -> StreamedFeed:
        chosen = request.query_params
        index, settings = chosen.get("index", ""), bool(chosen.get("settings"))
        number = int(index) if index.isdecimal() else None
        wish = Wish(role=chosen.get("role", ""), index=number, launcher_settings=settings)
        return StreamedFeed(lambda: LogFeed(self._handle(request), wish))

    def _handle(self, request: Request) -> Handle:
        return Handle(self._login.client(), *_where(request), self._clock)

    def _show_yaml(self, request: Request) -> Response:
        from pdj.documents.writer import to_yaml

        raw = get_job(self._login.client(), *_where(request))
        raw["metadata"].pop("managedFields", None)
        text = to_yaml([raw], allow_unicode=True)
        return Response(plain_values(text), media_type="text/plain")

    def _compare(self, request: Request) -> Response:
        """Two jobs of a namespace side by side."""
        client, (namespace, name) = self._login.client(), _where(request)
        jobs = [get_job(client, namespace, each) for each in (name, request.path_params["other"])]
        trainings = [TrainingReader(client, self._clock).read(read_job(each)) for each in jobs]
        compared = compare(jobs, trainings, self._clock.now(), _language(request))
        return _json(
            {
                "names": compared.names,
                "rows": compared.rows,
                "differences": compared.differences,
                "curves": draw_pictures(compared),
            }
        )

    def _tell_rights(self, request: Request) -> Response:
        """Which changes to the job the API server allows the user."""
        client, (namespace, name) = self._login.client(), _where(request)
        what = {"group": GROUP, "resource": PLURAL, "namespace": namespace, "name": name}
        rights = {}
        for verb in ("patch", "delete"):
            asked = {"spec": {"resourceAttributes": {**what, "verb": verb}}}
            rights[verb] = (client.create(REVIEWS, asked).get("status") or {}).get("allowed")
        return _json({verb: bool(allowed) for verb, allowed in rights.items()})

    async def _act(self, request: Request) -> Response:
        body = await _read_object(request)
        await run_in_threadpool(self._change, request, body)
        return _json({})

    def _change(self, request: Request, body: Raw) -> None:
        client, action = self._login.client(), request.path_params["action"]
        raw = get_job(client, *_where(request))
        if body.get("uid") != uid_of(raw):
            raise Problem("the job on the page has been deleted: another job now has its name")
        if action == "suspend":
            change.suspend(client, raw)
        elif action == "resume":
            change.resume(client, raw)
        elif action == "scale":
            change.scale(client, raw, _workers(body))
        elif action == "restart":
            change.restart(client, raw, format_micro_time(self._clock.now()))
        elif action == "delete":
            change.delete(client, raw)
        else:
            raise Usage(f"no action {action!r}")


async def _refuse(_request: Request, error: Exception) -> Response:
    code = HTTPStatus.CONFLICT if isinstance(error, Problem) else HTTPStatus.BAD_GATEWAY
    told = error.code if isinstance(error, ApiError) else 0
    return _json(describe_problem(error), told if told >= HTTPStatus.BAD_REQUEST else code)


def _language(request: Request) -> str:
    language = request.query_params.get("lang", "")
    return language if language in LANGUAGES else "en"


def _where(request: Request) -> tuple[str, str]:
    return request.path_params["namespace"], request.path_params["name"]


def _workers(body: Raw) -> int:
    workers = body.get("workers")
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 0:
        raise Usage("the number of workers must be a whole number, 0 or more")
    return workers


async def _read_object(request: Request) -> Raw:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise Usage("the request is not JSON") from error
    if not isinstance(body, dict):
        raise Usage("the request is not a JSON object")
    return body


def _json(value: Any, code: int = HTTPStatus.OK) -> Response:
    return Response(encode(value), code, media_type="application/json")
