"""The OpenAPI schema of PaddleJob.status: what `status.dump_status` writes, field by field.

No enums here: an older CRD must accept the words that a newer operator writes.
"""

from api.constants import MAX_RESTARTED_AT, Role
from api.objects import Raw
from api.schema_types import a_count, a_list, a_long, a_map, a_string, a_time, an_object

MAX_ENTRIES = 64
"""The bound of every list here: more than this operator keeps, for a newer one may keep more."""


def status_schema() -> Raw:
    """The schema of `status`."""
    return an_object(
        "What the operator has seen and done. Written by the operator alone.",
        _summary() | {role.value: _role(role) for role in Role} | _memory(),
    )


def _summary() -> Raw:
    return {
        "phase": a_string(
            "The job in one word: Pending, Starting, Running, Restarting, Scaling, Suspended, "
            "Completing, Completed, Failed or Terminating."
        ),
        "mode": a_string("How the job trains: PS, Collective, Heter or Single."),
        "conditions": a_list(
            "What is true of the job, since when and why.",
            _condition(),
            MAX_ENTRIES,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
        "observedGeneration": a_long("The generation of the spec that this status speaks of."),
        "startTime": a_time("When the job started, or was last resumed."),
        "completionTime": a_time("When the job ended, well or not."),
        "replicas": a_count("The pods that count for the scale subresource: the workers."),
        "selector": a_string("The label selector of the workers, for the scale subresource."),
    }


def _condition() -> Raw:
    return an_object(
        "One condition, as metav1.Condition has it.",
        {
            "type": a_string("The condition's name.", 316),
            "status": a_string("True, False or Unknown."),
            "reason": a_string("Why, in one word for programs.", 1024),
            "message": a_string("Why, in a sentence for people.", 32768),
            "lastTransitionTime": a_time("When status last changed."),
            "observedGeneration": a_long(
                "The generation of the spec that the condition speaks of."
            ),
        },
        required=["type", "status", "reason", "message", "lastTransitionTime"],
    )


def _role(role: Role) -> Raw:
    return an_object(
        f"The {role} pods by state. After the end failed and succeeded stay as they were.",
        {
            "replicas": a_count("Pods wanted."),
            "pending": a_count("Pods without a node."),
            "starting": a_count("Pods with a node that do not run yet."),
            "running": a_count("Pods that run."),
            "failed": a_count("Pods that have failed."),
            "succeeded": a_count("Pods that have succeeded."),
            "unknown": a_count("Pods whose node does not answer."),
            "ready": a_string("Running of wanted, e.g. 2/2."),
            "completedIndexes": a_string("The indexes of pods that have succeeded, e.g. 0-2,5."),
        },
    )


def _memory() -> Raw:
    return {
        "attempt": a_count("Which start of the whole gang this is, from 1."),
        "restartCount": a_count("How many times the gang has started anew."),
        "quickRestarts": a_count(
            "Restarts since an attempt last ran for 10 minutes; the back-off."
        ),
        "restartedAt": a_string(
            "The last value of the annotation restarted-at that was answered with a new attempt.",
            MAX_RESTARTED_AT,
        ),
        "failureCount": a_count("How many of those count against backoffLimit."),
        "failures": a_list("The last failures, oldest first.", _failure(), MAX_ENTRIES),
        "avoidNodes": a_list(
            "Nodes where the job failed; new pods prefer others.",
            {"type": "string"},
            MAX_ENTRIES,
        ),
        "podGroup": a_string("The PodGroup that holds the gang together."),
        "hostPorts": a_map(
            "With intranet Host: the first port of each pod's range.",
            {"type": "integer", "format": "int32"},
        ),
    }


def _failure() -> Raw:
    return an_object(
        "What was seen of a failure; it outlives the pod.",
        {
            "attempt": a_count("The attempt that failed."),
            "pod": a_string("The pod."),
            "role": a_string("Its role."),
            "index": a_count("Its index in the role."),
            "node": a_string("Its node."),
            "exitCode": {
                "description": "The trainer container's exit code.",
                "type": "integer",
                "format": "int32",
            },
            "signal": {
                "description": "The signal that ended it.",
                "type": "integer",
                "format": "int32",
            },
            "reason": a_string("Why, in one word."),
            "message": a_string("The last lines of its log, or what the node said."),
            "time": a_time("When."),
        },
    )
