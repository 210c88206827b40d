"""Where the seconds of a start and of a return go: when the steps of each pod were seen."""

from collections.abc import Iterator

from api.constants import LABEL_ATTEMPT, LABEL_JOB_NAME
from tests.live.history import History
from tests.live.lab import Raw

LOST, TOLD, GONE = "a pod has failed or goes", "all are told to end", "all are gone"
MADE, PLACED = "all are made again", "all have an address"
ORDER = (LOST, TOLD, GONE, MADE, PLACED)
FIRST, SECOND = "1", "2"


def seconds_to_config_map(pods: History, config_maps: History, job: str) -> float:
    """Seconds from the last address of a job's pods until its ConfigMap was there."""

    def placed(_: str, pod: Raw) -> Iterator[str]:
        metadata = pod["metadata"]
        if pod["status"].get("podIP") and metadata["labels"].get(LABEL_JOB_NAME) == job:
            yield metadata["name"]

    made = config_maps.first_seen(lambda _, config_map: [config_map["metadata"]["name"]])
    return max(0.0, made[job] - max(pods.first_seen(placed).values()))


def steps_since(pods: History, began: float) -> dict[str, float]:
    """Seconds until the first of a job's pods was lost, and until all had each other step."""
    seen = pods.first_seen(steps_of)
    times = {step: [at for (of, _), at in seen.items() if of == step] for step in ORDER}
    return {
        step: round((min if step == LOST else max)(at) - began, 2)
        for step, at in times.items()
        if at
    }


def steps_of(kind: str, pod: Raw) -> Iterator[tuple[str, str]]:
    """The steps that a pod has behind it, each with its UID; `kind` is that of the watch event."""
    metadata, status = pod["metadata"], pod.get("status", {})
    attempt = metadata.get("labels", {}).get(LABEL_ATTEMPT)
    is_deleted = "deletionTimestamp" in metadata
    for step, has_it in (
        (LOST, attempt == FIRST and (status.get("phase") == "Failed" or is_deleted)),
        (TOLD, attempt == FIRST and is_deleted),
        (GONE, attempt == FIRST and kind == "DELETED"),
        (MADE, attempt == SECOND),
        (PLACED, attempt == SECOND and status.get("podIP")),
    ):
        if has_it:
            yield step, metadata["uid"]
