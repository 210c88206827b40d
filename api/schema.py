"""The OpenAPI schema of a PaddleJob: names, types, bounds, defaults and descriptions.

Rules that a schema cannot express are in `rules`. `replicas`, `withGloo` and `intranet` have their
defaults here, and so always have a value: otherwise a user who later adds the default to a manifest
would seem to change an immutable field. Most other defaults are filled in on reading.
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
CustomResourceDefinition can contain. `make openapi` renews the file."""
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
    """A new copy of the template's schema, which the caller is free to change."""
    # Read by the package's loader, because `kubectl pdj` can run from a zip file.
    schema: Raw = json.loads(pkgutil.get_data(__package__, POD_TEMPLATE.name) or b"")["schema"]
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
        "The template of the role's pods. It is used unchanged, except for names, the operator's "
        "own labels, annotations and variables, and some fields, such as those for intranet, gang "
        "scheduling and Kueue. The trainer container is the one named paddle, else the first. An "
        "unset restartPolicy means Never; Always is refused."
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
            "headless Service per pod, Host over the nodes' own network, with a separate port "
            "range for each pod.",
            list(Intranet),
            default=Intranet.POD_IP.value,
            **rules.FIXED_VALUE_RULES,
        ),
        "elastic": an_integer(
            "The elastic level of PaddlePaddle's launcher. 1 or more lets workers come and go "
            "between worker.requests and worker.limits while the job trains. Unset: 0. Not "
            "allowed with ps or heter.",
            0,
        ),
        "schedulingPolicy": an_object(
            "Makes the pods a gang: none gets a node until minAvailable of them can.",
            {
                "minAvailable": an_integer(
                    "The fewest pods that must get nodes together. Unset: all.", 1, MAX_REPLICAS
                ),
                "queue": a_string("The batch scheduler's queue.", 253),
                "priorityClass": a_string("The gang's PriorityClass.", 253),
                "minResources": a_map(
                    "The least resources that all pods of the gang need together.",
                    _pod_fields(load_pod_template())["overhead"]["additionalProperties"],
                ),
            },
        ),
    }


def _failure() -> Raw:
    return {
        "backoffLimit": an_integer(
            "How many times all pods of the job can be restarted after failures. Unset: 0. "
            "Eviction, preemption and the loss of a node are not counted. With restartPolicy "
            "OnFailure, backoffLimit also limits how often kubelets restart containers in place; "
            "for these restarts, unset means 6.",
            0,
        ),
        "podFailurePolicy": an_object(
            "How a failed pod is treated, by exit code or condition. The first rule that matches "
            "decides. If no rule matches, all pods restart, which counts against backoffLimit "
            "unless the pod was disrupted. Needs restartPolicy Never in every role.",
            {"rules": a_list("The rules, in order.", _failure_rule(), 20)},
            required=["rules"],
        ),
    }


def _failure_rule() -> Raw:
    rule = an_object(
        "One rule: an action, and either onExitCodes or onPodConditions.",
        {
            "action": an_enum(
                "FailJob ends the job at once. Ignore restarts all pods without counting this "
                "against backoffLimit. Count restarts all pods and counts it.",
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
            "Whether pods and Services are deleted when the job has ended. OnFailure: only if it "
            "has failed. OnCompletion: only if it has succeeded. Unset: the operator's default; "
            "usually, pods that have ended stay, with their logs, and those that still run are "
            "deleted. If a job fails, pods that still run are kept only with Never.",
            clean,
        ),
        "cleanPolicy": an_enum("Another spelling of cleanPodPolicy.", clean),
        "suspend": a_boolean(
            "If true, the job has no pods, and those of a running job are deleted. If it becomes "
            "false again, all pods are created again, which does not count against backoffLimit. "
            "Unset: false."
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
            "ignores jobs that name another controller. The value cannot change.",
            63,
            pattern=PATH_OF_DOMAIN,
        ),
    }
