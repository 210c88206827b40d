"""The OpenAPI schema of a PaddleJob: names, types, bounds, defaults and descriptions.

Rules that a schema cannot express are in `rules`. Only fields that can never be unset again
(`replicas`, `withGloo`, `intranet`) have a default here. Otherwise, a user who adds the default
later would seem to change an immutable field. Other defaults are filled in on reading.
"""

import json
import pkgutil
from pathlib import Path

from api import rules
from api.constants import MAX_REPLICAS, CleanPodPolicy, Intranet, Role
from api.objects import Raw
from api.schema_types import (
    INT32,
    a_boolean,
    a_list,
    a_long,
    a_map,
    a_string,
    an_enum,
    an_integer,
    an_object,
)
from api.status import status_schema
from api.training import training_schema

POD_TEMPLATE = Path(__file__).with_name("pod_template.json")
"""The pod template's schema, of the Kubernetes version that the file names, reduced to what a
CustomResourceDefinition may contain. `make openapi` renews it."""
PATH_OF_DOMAIN = (
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
    r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$"
)
_SET: Raw = {"minItems": 1, "x-kubernetes-list-type": "set"}

ROLE_DESCRIPTIONS = {
    Role.PS: "The parameter servers. With them the job trains in PS mode; without, collectively.",
    Role.WORKER: "The workers, which train. The job is complete when every worker has succeeded.",
    Role.HETER: "The heter workers of a heterogeneous parameter-server job, between the workers "
    "and the servers.",
}


def load_pod_template() -> Raw:
    """A fresh copy of the template's schema: the caller may change it."""
    # By the package's loader: `kubectl pdj` may run out of a zip.
    schema: Raw = json.loads(pkgutil.get_data("api", POD_TEMPLATE.name) or b"")["schema"]
    return schema


def job_schema() -> Raw:
    """The schema of the whole object, rules included."""
    schema = an_object(
        "A distributed PaddlePaddle training: parameter servers, workers and heter workers that "
        "start together, find each other and end together.",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string"} | rules.NAME_RULES},
            },
            "spec": spec_schema(),
            "status": status_schema(),
        },
        required=["spec"],
    )
    return schema | rules.job_rules(_pod_fields(load_pod_template()))


def spec_schema() -> Raw:
    """The schema of `spec`."""
    roles: Raw = {role.value: _role(role) for role in Role}
    fields = roles | _behaviour() | _failure() | training_schema() | _lifecycle()
    return an_object("What to run.", fields, required=["worker"]) | rules.spec_rules()


def _role(role: Role) -> Raw:
    elastic = "of an elastic job" if role is Role.WORKER else "of the role"
    schema = an_object(
        ROLE_DESCRIPTIONS[role],
        {
            "replicas": an_integer("How many pods.", 1, MAX_REPLICAS, default=1),
            "requests": an_integer(
                f"The fewest pods {elastic}, at most replicas. Unset: replicas.", 1, MAX_REPLICAS
            ),
            "limits": an_integer(
                f"The most pods {elastic}, at least replicas. Unset: replicas.", 1, MAX_REPLICAS
            ),
            "template": _template(),
        },
        required=["template"],
    )
    return schema | rules.role_rules()


def _template() -> Raw:
    """Kubernetes' pod template, with the restrictions of this operator."""
    schema = load_pod_template()
    schema["description"] = (
        "The pods of the role. Used as it is, except for names, the operator's own labels, "
        "annotations and variables, and fields that intranet and the gang need. The trainer "
        "container is the one named paddle, else the first. An unset restartPolicy means "
        "Never; Always is refused."
    )
    schema["required"] = ["spec"]
    for part in ("metadata", "spec"):
        schema["properties"][part].pop("nullable")
    pod = _pod_fields(schema)
    pod["containers"]["minItems"] = 1
    pod["restartPolicy"] |= rules.RESTART_POLICY_RULES
    return schema


def _pod_fields(template: Raw) -> Raw:
    fields: Raw = template["properties"]["spec"]["properties"]
    return fields


def _behaviour() -> Raw:
    return {
        "withGloo": an_enum(
            "Where Gloo, which synchronizes parameter-server jobs, runs: 0 nowhere, 1 on the "
            "workers, 2 on the workers and the servers. Without ps it has no effect.",
            [0, 1, 2],
            default=1,
            **rules.FIXED_VALUE_RULES,
        ),
        "intranet": an_enum(
            "How the pods reach each other: PodIP by their addresses, Service through one "
            "headless Service per pod, Host over the nodes' own network on a port range of "
            "each pod's own.",
            list(Intranet),
            default=Intranet.POD_IP.value,
            **rules.FIXED_VALUE_RULES,
        ),
        "elastic": an_integer(
            "The elastic level of PaddlePaddle's launcher. 1 or more lets workers come and go "
            "between worker.requests and worker.limits while the job trains. Unset: 0. Not with "
            "ps or heter.",
            0,
        ),
        "schedulingPolicy": an_object(
            "Makes the pods a gang: all of them get nodes, or none.",
            {
                "minAvailable": an_integer(
                    "The fewest pods that must get nodes together. Unset: all.", 1, MAX_REPLICAS
                ),
                "queue": a_string("The batch scheduler's queue.", 253),
                "priorityClass": a_string("The gang's PriorityClass.", 253),
                "minResources": a_map(
                    "The least resources that the whole gang needs.",
                    _pod_fields(load_pod_template())["overhead"]["additionalProperties"],
                ),
            },
        ),
    }


def _failure() -> Raw:
    return {
        "backoffLimit": an_integer(
            "How many times the whole gang may start anew after failures. Unset: 0. Eviction, "
            "preemption and the loss of a node are not counted. With restartPolicy OnFailure it "
            "also limits the restarts of containers in place; for these, unset means 6.",
            0,
        ),
        "podFailurePolicy": an_object(
            "How a failed pod is treated, by exit code or condition. The first rule that matches "
            "decides. If none matches, a disrupted pod restarts the gang uncounted, and any other "
            "failure counts against backoffLimit. Needs restartPolicy Never in every role.",
            {"rules": a_list("The rules, in order.", _failure_rule(), 20)},
            required=["rules"],
        ),
    }


def _failure_rule() -> Raw:
    rule = an_object(
        "One rule: an action, and either onExitCodes or onPodConditions.",
        {
            "action": an_enum(
                "FailJob ends the job at once, Ignore restarts the gang uncounted, Count "
                "restarts it counted against backoffLimit.",
                ["FailJob", "Ignore", "Count"],
            ),
            "onExitCodes": _on_exit_codes(),
            "onPodConditions": a_list(
                "Matches a failed pod that has one of these conditions.",
                an_object(
                    "A pod's condition.",
                    {
                        "type": a_string("The condition's type, e.g. DisruptionTarget.", 316),
                        "status": an_enum(
                            "The condition's status.", ["True", "False", "Unknown"], default="True"
                        ),
                    },
                    required=["type"],
                ),
                20,
            ),
        },
        required=["action"],
    )
    return rule | rules.FAILURE_RULE_RULES


def _on_exit_codes() -> Raw:
    schema = an_object(
        "Matches a failed pod by a container's exit code.",
        {
            "containerName": a_string(
                "The container or init container to check. Unset: all of them.", 63
            ),
            "operator": an_enum(
                "In: the exit code is one of values. NotIn: it is neither 0 nor one of them.",
                ["In", "NotIn"],
            ),
            "values": a_list("Exit codes, each once.", INT32, 255, **_SET),
        },
        required=["operator", "values"],
    )
    return schema | rules.EXIT_CODE_RULES


def _lifecycle() -> Raw:
    clean = list(CleanPodPolicy)
    return {
        "cleanPodPolicy": an_enum(
            "Whether pods and Services are deleted when the job has ended: Always, Never, "
            "OnFailure, or OnCompletion, when it has succeeded. Unset: the operator's default, "
            "usually OnCompletion. If a job fails, pods that still run are kept only with Never.",
            clean,
        ),
        "cleanPolicy": an_enum("Another spelling of cleanPodPolicy.", clean),
        "suspend": a_boolean(
            "True holds the job without pods. A running job's pods are deleted; false starts "
            "them anew, uncounted. Unset: false."
        ),
        "activeDeadlineSeconds": a_long(
            "Ends the job as Failed this long after its start or resume."
        ),
        "startingDeadlineSeconds": a_long(
            "Ends the job as Failed when its pods do not all run this long after its start or "
            "resume.",
            1,
        ),
        "ttlSecondsAfterFinished": an_integer(
            "Deletes the job this long after its end. Unset: never.", 0
        ),
        "managedBy": a_string(
            "Names the controller that runs the job, as domain/path. Unset: this operator, which "
            "ignores jobs that name another controller. It cannot change.",
            63,
            pattern=PATH_OF_DOMAIN,
        ),
    }
