"""The project's vocabulary: the group, labels, annotations, conditions, reasons.

Every name that users, dashboards or other controllers see is defined here once, with its meaning.
These names are part of the API: change a value only together with a new API version.
"""

from enum import StrEnum
from typing import Final

RELEASE: Final = "0.5.0"
"""The release of the operator, its image and its chart."""
GROUP: Final = "batch.paddlepaddle.org"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "PaddleJob"
PLURAL: Final = "paddlejobs"
SINGULAR: Final = "paddlejob"
SHORT_NAME: Final = "pdj"
CONTROLLER_NAME: Final = "paddlejob.batch.paddlepaddle.org/operator"
"""The value of spec.managedBy that means this operator. An unset field also means this operator."""
OWN_MANAGERS: Final = ("", CONTROLLER_NAME)
FORMER_FINALIZER: Final = "finalizers.paddlepaddle.org"
"""The finalizer of every job of paddle-operator 0.3. This operator sets no finalizer."""

# Labels on every child. The operator's own values overwrite a template's.
LABEL_JOB_NAME: Final = f"{GROUP}/job-name"
"""On every child: the job's name. Select a job's pods by it."""
LABEL_JOB_UID: Final = f"{GROUP}/job-uid"
"""On every child: the job's UID. The operator's watches select by this label, so they do not show
a child without it."""
LABEL_ROLE: Final = f"{GROUP}/role"
"""On every pod: ps, worker or heter."""
LABEL_INDEX: Final = f"{GROUP}/index"
"""On every pod: its place in its role, from 0."""
LABEL_ATTEMPT: Final = f"{GROUP}/attempt"
"""The attempt that the child was made for, from 1. It distinguishes old pods from new."""
LABEL_RES_NAME: Final = "paddle-res-name"
"""The pod's name. The pod's Service selects by this label, and older tools read it."""
LABEL_RES_TYPE: Final = "paddle-res-type"
"""The pod's role: ps, worker or heter. Older tools read it."""
ANNOTATION_RESOURCE: Final = "paddle-resource"
"""The job's mode at the pod's creation. Older tools read it."""
ANNOTATION_WOKEN: Final = f"{GROUP}/woken"
"""Wakes a pod that waits for its attempt's ConfigMap. Value: the attempt, how often, and when."""
LABEL_APP_NAME: Final = "app.kubernetes.io/name"
"""On every child: paddlejob. On the operator's own objects: paddlejob-operator."""
LABEL_APP_INSTANCE: Final = "app.kubernetes.io/instance"
"""On every child: the job's name. A template's value wins, as for the next two."""
LABEL_APP_COMPONENT: Final = "app.kubernetes.io/component"
"""On every child of a role: the role."""
LABEL_APP_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
"""On every child: paddlejob-operator."""
LABEL_NO_BACKUP: Final = "velero.io/exclude-from-backup"
"""On every child, because a child that Velero restores has no owner. A template's value wins."""
APP_NAME: Final = "paddlejob"
MANAGED_BY: Final = "paddlejob-operator"
OPERATOR_LABELS: Final = {LABEL_APP_NAME: MANAGED_BY}
"""On all objects of the operator itself except its namespace. Uninstall commands select by them."""

LABEL_CODE_OF: Final = f"{GROUP}/code-of"
"""On a ConfigMap of `kubectl pdj run --code`: the job's name."""
ANNOTATION_CODE: Final = f"{GROUP}/code-sha256"
"""On that ConfigMap: the digest of its content."""
ANNOTATION_SUBMITTED_BY: Final = f"{GROUP}/submitted-by"
"""On a job: who submitted it, as a note for people: whoever may change the job can change it."""
ANNOTATION_RESTARTED_AT: Final = f"{GROUP}/restarted-at"
"""On a job, set by its user: each new value asks for one new attempt."""
MAX_RESTARTED_AT: Final = 64
"""Status stores this many characters of a restarted-at annotation; the rest is ignored."""
ANNOTATION_RESTORING: Final = f"{GROUP}/restoring"
"""On a job that `kubectl pdj restore` has created, until the restored status is written."""
ANNOTATION_KEEP_LOGS: Final = f"{GROUP}/keep-logs"
"""On a job: `true` keeps the last lines of its failed pods' logs. Needs the flag --progress."""
ANNOTATION_STATIC_RENDEZVOUS: Final = f"{GROUP}/static-rendezvous"
"""On a job: any value but `true` makes PaddlePaddle's launchers meet over HTTP."""

ANNOTATION_GROUP_NAME: Final = "scheduling.k8s.io/group-name"
"""Read by Volcano: the name of the PodGroup that a pod belongs to."""
VOLCANO: Final = "volcano"
VOLCANO_API_VERSION: Final = "scheduling.volcano.sh/v1beta1"
GANG_API_VERSION: Final = "scheduling.k8s.io/v1alpha2"
"""Kubernetes' own PodGroup, in v1.36 behind the gates GenericWorkload and GangScheduling."""

KUEUE_API_VERSION: Final = "kueue.x-k8s.io/v1beta2"
LABEL_QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""On a job, set by its user: the LocalQueue that the job waits in. Read only with --kueue."""
LABEL_QUEUE_PRIORITY: Final = "kueue.x-k8s.io/priority-class"
"""On a job, set by its user: its WorkloadPriorityClass."""
LABEL_QUEUE_SECONDS: Final = "kueue.x-k8s.io/max-exec-time-seconds"
"""On a job, set by its user: Kueue evicts it after so many seconds of running."""
ANNOTATION_PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
"""An annotation or label that MultiKueue sets on a job: the Workload made for it in advance."""
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
"""The managedBy of a job in MultiKueue's manager cluster: the job runs in another cluster."""
TOPOLOGY_GATE: Final = "kueue.x-k8s.io/topology"
"""A scheduling gate, which Kueue removes from a pod after it has chosen where the pod runs."""
LABEL_POD_SET: Final = "kueue.x-k8s.io/podset"
"""On a pod of a queue's job: its pod set in the Workload. Kueue places the pod by it."""
ANNOTATION_WORKLOAD: Final = "kueue.x-k8s.io/workload"
"""On such a pod: its Workload."""
LABEL_QUEUE_JOB: Final = "kueue.x-k8s.io/job-uid"
"""On a Workload: the job's UID, which Kueue's own tools read."""
JOB_LABELS: Final = (LABEL_QUEUE, LABEL_QUEUE_PRIORITY, LABEL_QUEUE_SECONDS, ANNOTATION_PREBUILT)
"""The labels of a job that a reconcile reads."""
ANNOTATION_POD_SETS: Final = f"{GROUP}/pod-sets-sha256"
"""On a Workload: the digest of the job's roles and labels from which the Workload was made."""
ANNOTATION_TEMPLATES: Final = f"{GROUP}/templates-sha256"
"""On a Workload: the digest of the templates alone, from which its pod sets were made."""
ANNOTATION_SUSPENDED: Final = f"{GROUP}/suspended"
"""On a Workload that is inactive because of spec.suspend: resuming the job activates it again."""

TRAINER_CONTAINER: Final = "paddle"
"""The trainer container's name; where no container has it, the first one is the trainer."""


class Role(StrEnum):
    """What a pod does in the job. The order is the order of creation."""

    PS = "ps"
    WORKER = "worker"
    HETER = "heter"


class Mode(StrEnum):
    """How the job trains, derived from its roles."""

    PS = "PS"  # workers with parameter servers
    COLLECTIVE = "Collective"  # several workers that reduce gradients among themselves, no servers
    HETER = "Heter"  # parameter servers, workers, and heter workers on other devices
    SINGLE = "Single"  # one worker alone


class Intranet(StrEnum):
    """How the pods reach each other."""

    POD_IP = "PodIP"  # by the pods' own addresses
    SERVICE = "Service"  # by name, through a headless Service per pod
    HOST = "Host"  # on the nodes' own network, each pod on a port range of its own


class CleanPodPolicy(StrEnum):
    """When pods and Services are deleted after the job has ended."""

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"  # after success only


class Phase(StrEnum):
    """The one word that `kubectl get pdj` shows."""

    PENDING = "Pending"  # not every pod exists and has a node
    STARTING = "Starting"  # every pod has a node; not all run
    RUNNING = "Running"  # every pod runs
    RESTARTING = "Restarting"  # the last attempt's pods terminate, or the back-off runs
    SCALING = "Scaling"  # an elastic job runs while workers are added or removed
    SUSPENDED = "Suspended"  # spec.suspend is true, and the job has no pods
    COMPLETING = "Completing"  # some workers have succeeded, the others still run
    COMPLETED = "Completed"  # every worker has succeeded; final
    FAILED = "Failed"  # the job ended without success; the condition Failed says why; final
    TERMINATING = "Terminating"  # the job is being deleted and waits for its children


TERMINAL_PHASES: Final = frozenset({Phase.COMPLETED, Phase.FAILED})


class Condition(StrEnum):
    """Types of status.conditions."""

    PENDING = "Pending"  # True while the job waits for something; the message says for what
    PODS_SCHEDULED = "PodsScheduled"  # True while every pod has a node
    RUNNING = "Running"  # True while every pod runs, or has succeeded while others still run
    RESTARTING = "Restarting"  # True from an attempt's end until the next has its pods; says why
    SUSPENDED = "Suspended"  # True while spec.suspend keeps the job without pods
    COMPLETED = "Completed"  # True after the workers have succeeded; final
    FAILED = "Failed"  # True after the job has ended without success; says why; final
    ADOPTED = "Adopted"  # True while the job runs on pods that paddle-operator 0.3 has made
    TRAINING_STALLED = "TrainingStalled"  # True while a running job does not train; says since when
    LOSS_NOT_FINITE = "LossNotFinite"  # True while the log's losses are nan or inf; says since when
    TRAINED_ALONE = "TrainedAlone"  # True if, in the latest attempt that ran, workers trained alone
    FINISHED = "Finished"  # True after the job has ended, with success or not; final
    RECONCILING = "Reconciling"  # True until the job runs or has ended; read by kstatus
    STALLED = "Stalled"  # True after the job has failed; read by kstatus


class Reason(StrEnum):
    """All reasons of conditions, Events and records; `catalogue/reasons.py` has their meanings."""

    # Reports of progress
    CREATED = "Created"
    ADOPTED = "Adopted"
    PODS_CREATED = "PodsCreated"
    ALL_PODS_RUNNING = "AllPodsRunning"
    ALL_PODS_SCHEDULED = "AllPodsScheduled"
    NOT_ALL_SCHEDULED = "NotAllScheduled"
    NOT_ALL_RUNNING = "NotAllRunning"
    WORKERS_SUCCEEDED = "WorkersSucceeded"
    ENDED_EARLY = "EndedEarly"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    ENDED = "Ended"
    COMPLETED = "Completed"
    FAILED = "Failed"
    # What a pending job waits for
    UNSCHEDULABLE = "Unschedulable"
    PARTLY_PLACED = "PartlyPlaced"
    WAITING_FOR_PODS = "WaitingForPods"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_GROUP_PENDING = "PodGroupPending"
    POD_GROUP_UNAVAILABLE = "PodGroupUnavailable"
    POD_GROUP_INVALID = "PodGroupInvalid"
    QUEUED = "Queued"
    QUEUE_UNAVAILABLE = "QueueUnavailable"
    CREATE_REFUSED = "CreateRefused"
    CREATE_UNANSWERED = "CreateUnanswered"
    DELETE_REFUSED = "DeleteRefused"
    PATCH_REFUSED = "PatchRefused"
    NAME_CONFLICT = "NameConflict"
    STATUS_UNREADABLE = "StatusUnreadable"
    NO_FREE_PORTS = "NoFreePorts"
    PODS_TERMINATING = "PodsTerminating"
    CHILDREN_TERMINATING = "ChildrenTerminating"
    BACK_OFF = "BackOff"
    # Causes of an attempt's end
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    POD_VANISHED = "PodVanished"
    ADDRESS_CHANGED = "AddressChanged"
    STALE_CONFIG_MAP = "StaleConfigMap"
    NODE_LOST = "NodeLost"
    TRAINER_ASKED_RESTART = "TrainerAskedRestart"
    FAILURE_POLICY_IGNORE = "FailurePolicyIgnore"
    ELASTIC_UNTRAINED = "ElasticUntrained"
    EVICTED = "Evicted"
    TRAINING_STALLED = "TrainingStalled"
    RESTART_REQUESTED = "RestartRequested"
    # Causes of the job's failure
    BACKOFF_LIMIT_EXCEEDED = "BackoffLimitExceeded"
    RESTART_LOOP = "RestartLoop"
    POD_FAILURE_POLICY = "PodFailurePolicy"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    STARTING_DEADLINE_EXCEEDED = "StartingDeadlineExceeded"
    LOSS_NOT_FINITE = "LossNotFinite"
    IMAGE_ERROR = "ImageError"
    CONFIG_ERROR = "ConfigError"
    INVALID_SPEC = "InvalidSpec"
    ENDPOINTS_TOO_LONG = "EndpointsTooLong"
    # Only reported
    NO_OUTPUT = "NoOutput"
    NO_NEW_STEP = "NoNewStep"
    TRAINS_AGAIN = "TrainsAgain"
    LOSS_FINITE = "LossFinite"
    LOG_NOT_READ = "LogNotRead"
    OWNED_VARIABLE = "OwnedVariable"
    TRAINED_ALONE = "TrainedAlone"
    FORCE_DELETED = "ForceDeleted"


def _reasons(first: Reason, last: Reason) -> tuple[Reason, ...]:
    every = tuple(Reason)
    return every[every.index(first) : every.index(last) + 1]


FAILURE_REASONS: Final = (
    Reason.POD_FAILED,
    Reason.TRAINING_STALLED,
    *_reasons(Reason.BACKOFF_LIMIT_EXCEEDED, Reason.ENDPOINTS_TOO_LONG),
)
"""The reasons for which a job can fail: values of a label of `paddlejob_failed_total`."""
ATTEMPT_ENDS: Final = _reasons(Reason.POD_FAILED, Reason.RESTART_REQUESTED)
"""The reasons for which an attempt can end and another attempt can follow."""
STALLS: Final = (Reason.NO_OUTPUT, Reason.NO_NEW_STEP)
"""The reasons of the condition TrainingStalled while it is true."""
WAITS: Final = (
    *_reasons(Reason.UNSCHEDULABLE, Reason.BACK_OFF),
    *_reasons(Reason.IMAGE_ERROR, Reason.INVALID_SPEC),
    Reason.NODE_LOST,
)
"""The reasons of the condition Pending while it is true."""

EXIT_CODE_ELASTIC_RESTART: Final = 101
"""With it, PaddlePaddle's launcher asks to be restarted because workers have joined or left."""
EXIT_CODE_RELAUNCH: Final = 102
"""With it, PaddlePaddle's launcher asks to be restarted after auto-parallel tuning."""

PORT: Final = 36000
"""The first port of a pod, unless the templates set PADDLE_PORT or `intranet` is Host."""
PORTS_PER_POD: Final = 20
MAX_ENV_VALUE_BYTES: Final = 131_000
"""A little below Linux's limit of 131,072 bytes for a variable's name and value together."""
MAX_REPLICAS: Final = 10_000
"""The largest number of pods in a job, of all roles together."""
MAX_CHILD_NAME: Final = 63
"""The longest DNS-1035 label, because a pod's hostname and Service have the pod's name."""
