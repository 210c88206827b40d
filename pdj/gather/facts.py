"""Reads everything about a job that its explanation needs: side by side, each read bounded."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from api.job import PaddleJob
from api.objects import Raw
from kube.client import PAGE, Client
from kube.errors import ApiError, Forbidden, NotFound
from kube.logs import LOG_READ_SECONDS
from pdj.facts.facts import Answer, Ask, Facts
from pdj.facts.picture import JobPicture
from pdj.facts.training import Training
from pdj.gather.questions import questions

ReadTraining = Callable[[PaddleJob], Training | None]
THREADS = 8
MAX_READ_BYTES = 32 << 20
"""The most bytes of one object, or of one page of a list."""


def gather(
    client: Client,
    picture: JobPicture,
    read: ReadTraining | None = None,
    only: str = "",
    known: Mapping[str, Answer] = MappingProxyType({}),
) -> Facts:
    """The facts about a job, or those of which the names begin with `only`.

    What cannot be read is a fact, too. `read` reads its training, while the rest is read. What is
    `known` is not asked again.
    """
    facts = Facts(picture, answers=known)
    with ThreadPoolExecutor(THREADS, "facts") as pool:
        training = pool.submit(read, facts.job) if read else None
        while asks := {
            name: ask
            for name, ask in questions(facts)
            if name.startswith(only) and name not in facts.answers
        }:
            found = dict(zip(asks, pool.map(partial(_answer, client), asks.values()), strict=True))
            facts = replace(facts, answers={**facts.answers, **found})
        return replace(facts, training=training.result()) if training else facts


def _answer(client: Client, ask: Ask) -> Answer:
    try:
        if ask.is_log:
            log = client.read_log(ask.path, dict(ask.query), LOG_READ_SECONDS)
            return Answer(text=log.decode(errors="replace"))
        if not ask.limit:
            return Answer((client.get(ask.path, max_bytes=MAX_READ_BYTES),))
        return _read_list(client, ask)
    except Forbidden as error:
        return Answer(problem=error.message, is_hidden=True)
    except NotFound as error:
        return Answer(problem=error.message, is_missing=True)
    except ApiError as error:
        return Answer(problem=error.message)


def _read_list(client: Client, ask: Ask) -> Answer:
    found: list[Raw] = []
    page: dict[str, Any] = {**ask.query, "limit": min(PAGE, ask.limit)}
    while len(found) < ask.limit:
        answer = client.get(ask.path, page, max_bytes=MAX_READ_BYTES)
        found += answer.get("items") or ()
        page["continue"] = (answer.get("metadata") or {}).get("continue")
        if not page["continue"]:
            return Answer(tuple(found))
    return Answer(tuple(found), problem=f"there are more than {ask.limit}")
