"""A Volcano Job as the PaddleJob that does the same, field by field.

| Volcano's Job | PaddleJob |
|---|---|
| `metadata` | the same |
| `minAvailable` | `schedulingPolicy.minAvailable` |
| `schedulerName` | of the worker's template, and there only |
| `policies`: PodFailed, PodEvicted -> RestartJob | `backoffLimit`: Volcano's own `maxRetry` of 3 |
| a task's `replicas` and `template`, untouched | of the role that its TRAINING_ROLE names |
| a task's `policies`: TaskCompleted -> CompleteJob | what a job does when its workers are done |

The pods are kept at the end, and there is no Gloo, which such programs do not know.
"""

import copy
from typing import Any

Raw = dict[str, Any]
MAX_RETRY = 3
ROLES = {"PSERVER": "ps", "TRAINER": "worker"}
RESTARTS = [
    {"event": "PodEvicted", "action": "RestartJob"},
    {"event": "PodFailed", "action": "RestartJob"},
]
COMPLETION = {"worker": [{"event": "TaskCompleted", "action": "CompleteJob"}]}


class NoSuchPolicy(Exception):
    """A policy that a PaddleJob does not have."""


def paddle_job_of(job: Raw) -> Raw:
    """The PaddleJob. Raises NoSuchPolicy."""
    spec = copy.deepcopy(job["spec"])
    if spec["policies"] != RESTARTS:
        raise NoSuchPolicy(spec["policies"])
    roles = dict(_role(task) for task in spec["tasks"])
    roles["worker"]["template"]["spec"]["schedulerName"] = spec["schedulerName"]
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": job["metadata"],
        "spec": {
            "cleanPodPolicy": "Never",
            "withGloo": 0,
            "backoffLimit": MAX_RETRY,
            "schedulingPolicy": {"minAvailable": spec["minAvailable"]},
            **roles,
        },
    }


def _role(task: Raw) -> tuple[str, Raw]:
    env = {each["name"]: each.get("value") for each in _trainer(task)["env"]}
    role = ROLES[str(env["TRAINING_ROLE"])]
    if task.get("policies", []) != COMPLETION.get(role, []):
        raise NoSuchPolicy(task.get("policies"))
    return role, {"replicas": task["replicas"], "template": task["template"]}


def _trainer(task: Raw) -> Raw:
    return dict(task["template"]["spec"]["containers"][0])
