"""The project's vocabulary: the group, labels, annotations, conditions, reasons.

Every word that a user, a dashboard or another controller may meet stands here once, with its
meaning. An API cannot be taken back: change a value only together with a new API version.
"""

from enum import StrEnum
from typing import Final

GROUP: Final = "batch.paddlepaddle.org"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "PaddleJob"
PLURAL: Final = "paddlejobs"
SINGULAR: Final = "paddlejob"
SHORT_NAME: Final = "pdj"
CONTROLLER_NAME: Final = "paddlejob.batch.paddlepaddle.org/operator"
"""The value of spec.managedBy that means this operator; so does an unset field."""

# Labels on every child. The operator's own values overwrite a template's.
LABEL_JOB_NAME: Final = f"{GROUP}/job-name"
LABEL_JOB_UID: Final = f"{GROUP}/job-uid"
"""Also what the operator's watches select by: a child without it is not seen."""
LABEL_ROLE: Final = f"{GROUP}/role"
LABEL_INDEX: Final = f"{GROUP}/index"
LABEL_ATTEMPT: Final = f"{GROUP}/attempt"
LABEL_RES_NAME: Final = "paddle-res-name"
"""The pod's name: what a per-pod Service selects by. Older tools read it."""
LABEL_RES_TYPE: Final = "paddle-res-type"
"""The pod's role: ps, worker or heter. Older tools read it."""
ANNOTATION_RESOURCE: Final = "paddle-resource"
"""The job's mode at the pod's creation. Older tools read it."""
LABEL_APP_NAME: Final = "app.kubernetes.io/name"
LABEL_APP_INSTANCE: Final = "app.kubernetes.io/instance"
LABEL_APP_COMPONENT: Final = "app.kubernetes.io/component"
LABEL_APP_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
APP_NAME: Final = "paddlejob"
MANAGED_BY: Final = "paddlejob-operator"

ANNOTATION_GROUP_NAME: Final = "scheduling.k8s.io/group-name"
"""Volcano's: the PodGroup that a pod belongs to."""
VOLCANO: Final = "volcano"
VOLCANO_API_VERSION: Final = "scheduling.volcano.sh/v1beta1"
GANG_API_VERSION: Final = "scheduling.k8s.io/v1alpha2"
"""Kubernetes' own PodGroup: v1.36 with the gates GenericWorkload and GangScheduling."""

TRAINER_CONTAINER: Final = "paddle"
"""The trainer container's name; where no container has it, the first one is the trainer."""


class Role(StrEnum):
    """What a pod does in the job. The order is the order of creation."""

    PS = "ps"
    WORKER = "worker"
    HETER = "heter"


class Mode(StrEnum):
    """How the job trains, told from its roles."""

    PS = "PS"
    COLLECTIVE = "Collective"
    HETER = "Heter"
    SINGLE = "Single"


class Intranet(StrEnum):
    """How the pods reach each other."""

    POD_IP = "PodIP"
    SERVICE = "Service"
    HOST = "Host"


class CleanPodPolicy(StrEnum):
    """When pods and Services go after the job's end."""

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"


class Phase(StrEnum):
    """The one word that `kubectl get pdj` shows."""

    PENDING = "Pending"
    """Not every pod exists and has a node."""
    STARTING = "Starting"
    """Every pod has a node; not all run."""
    RUNNING = "Running"
    """Every pod runs."""
    RESTARTING = "Restarting"
    """The pods of an ended attempt go; the next attempt waits for its back-off."""
    SCALING = "Scaling"
    """An elastic job runs while workers are added or removed."""
    SUSPENDED = "Suspended"
    """spec.suspend holds the job without pods."""
    COMPLETING = "Completing"
    """Some workers have ended well, the others still run."""
    COMPLETED = "Completed"
    """Every worker has ended well. Final."""
    FAILED = "Failed"
    """The job ended without its result; the condition says why. Final."""
    TERMINATING = "Terminating"
    """The job is being deleted and waits for its children."""


TERMINAL_PHASES: Final = frozenset({Phase.COMPLETED, Phase.FAILED})


class Condition(StrEnum):
    """Types of status.conditions."""

    PENDING = "Pending"
    """True while pods wait for something; the message says for what."""
    PODS_SCHEDULED = "PodsScheduled"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    FAILED = "Failed"


class Reason(StrEnum):
    """Reasons of conditions and Events, all of them."""

    # The job's way
    CREATED = "Created"
    PODS_CREATED = "PodsCreated"
    ALL_PODS_RUNNING = "AllPodsRunning"
    ALL_PODS_SCHEDULED = "AllPodsScheduled"
    NOT_ALL_SCHEDULED = "NotAllScheduled"
    NOT_ALL_RUNNING = "NotAllRunning"
    WORKERS_SUCCEEDED = "WorkersSucceeded"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    ENDED = "Ended"
    # What a pending job waits for
    UNSCHEDULABLE = "Unschedulable"
    WAITING_FOR_PODS = "WaitingForPods"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_GROUP_PENDING = "PodGroupPending"
    POD_GROUP_UNAVAILABLE = "PodGroupUnavailable"
    POD_GROUP_INVALID = "PodGroupInvalid"
    CREATE_REFUSED = "CreateRefused"
    NAME_CONFLICT = "NameConflict"
    NO_FREE_PORTS = "NoFreePorts"
    PODS_TERMINATING = "PodsTerminating"
    BACK_OFF = "BackOff"
    # What ends an attempt
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    POD_VANISHED = "PodVanished"
    ADDRESS_CHANGED = "AddressChanged"
    NODE_LOST = "NodeLost"
    TRAINER_ASKED_RESTART = "TrainerAskedRestart"
    FAILURE_POLICY_IGNORE = "FailurePolicyIgnore"
    ELASTIC_UNTRAINED = "ElasticUntrained"
    # What ends the job
    BACKOFF_LIMIT_EXCEEDED = "BackoffLimitExceeded"
    POD_FAILURE_POLICY = "PodFailurePolicy"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    STARTING_DEADLINE_EXCEEDED = "StartingDeadlineExceeded"
    IMAGE_ERROR = "ImageError"
    CONFIG_ERROR = "ConfigError"
    INVALID_SPEC = "InvalidSpec"
    ENDPOINTS_TOO_LONG = "EndpointsTooLong"
    # Told, not acted on
    OWNED_VARIABLE = "OwnedVariable"
    FORCE_DELETED = "ForceDeleted"


EXIT_CODE_ELASTIC_RESTART: Final = 101
"""PaddlePaddle's launcher asks to be started again after membership changed."""
EXIT_CODE_RELAUNCH: Final = 102
"""PaddlePaddle's launcher asks to be started again after auto-parallel tuning."""

PORT: Final = 36000
"""First port of a pod's range unless a template's PADDLE_PORT says another."""
PORTS_PER_POD: Final = 20
MAX_ENV_VALUE_BYTES: Final = 131_000
"""Linux refuses one environment string of 131,072 bytes or more, its name included."""
MAX_REPLICAS: Final = 10_000
"""The most pods of a job, over all roles."""
MAX_CHILD_NAME: Final = 63
"""DNS-1035 labels end there: pods give their names to hostnames and Services."""
