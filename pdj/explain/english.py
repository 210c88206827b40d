"""The texts in English, and the words around them."""

from api.constants import Reason
from pdj.explain import faults, kueue, training
from pdj.explain.texts import Text, Texts, Who

UNKNOWN = Text(
    "This tool does not know the reason: the operator is newer.",
    "Update kubectl-pdj, and read the operator's message.",
    Who.USER,
)
NOT_SEEN = Text(
    "No operator has handled the job yet.",
    "If that lasts for a minute, check that the operator runs and watches this namespace "
    "(kubectl get pods -A -l app.kubernetes.io/name=paddlejob-operator).",
    Who.ADMIN,
)
NOT_OURS = Text(
    "spec.managedBy leaves the job to another controller.",
    "Look at that controller, or create the job again without managedBy.",
    Who.USER,
)
OUT_OF_MEMORY = Text(
    "A trainer ran out of memory: its container exceeded its memory limit.",
    "Raise resources.limits.memory of the container, or let the program use less (smaller "
    "batches, fewer processes that read data); submit the job again if it has ended.",
    Who.USER,
)
KILLED = Text(
    "A trainer, or one of its processes, was killed by SIGKILL, most often because memory ran out.",
    "Ask for more memory (resources.requests and limits), or let the program use less; if memory "
    "is not the cause, read what the logs of the node and of the program say about that time.",
    Who.USER,
)
SHARED_MEMORY_FULL = Text(
    "A trainer, or a process that reads data for it, met a bus error: /dev/shm is full. A "
    "container has 64 MB of it unless a volume is mounted there.",
    "Mount an emptyDir with medium: Memory at /dev/shm in the pod template, and count its size in "
    "the memory limit; or read data with num_workers=0.",
    Who.USER,
)
DISK_FULL = Text(
    "A file system is full: the last lines name the file that could not be written.",
    "Enlarge or clear the volume that has the file; for a file in the container itself or in an "
    "emptyDir, raise resources.limits.ephemeral-storage or sizeLimit; for /dev/shm, mount an "
    "emptyDir with medium: Memory.",
    Who.USER,
)
NO_MODULE = Text(
    "The program imports a module that its image does not have.",
    "Add the package to the image, or to the file of --requirements if the code is sent by --code; "
    "for a module of your own, set workingDir or PYTHONPATH to its folder.",
    Who.USER,
)
FAULTS = faults.ENGLISH
"""The texts by the kind of fault that the program's log shows."""
NOT_SET_UP = Text(
    "A node cannot set a pod up: the warnings below say why.",
    "Correct or create the volume or object that the warnings name; the node tries again.",
    Who.USER,
)
SILENT = Text(
    "Every pod runs, but the first worker has written nothing for a while: the training may hang.",
    "Look at the last line of each worker with `kubectl pdj logs JOB --tail 1 --timestamps`: the "
    "worker with the oldest line stopped first. If the training hangs, begin a new attempt with "
    "`kubectl pdj restart JOB`. An intended pause can be announced (docs/progress.md).",
    Who.USER,
)
FORMING = Text(
    "Every pod runs, but the launchers form their group again and again, and nothing is trained.",
    "Find in the log (`kubectl pdj logs`) why the group ends each time: a program fails, or the "
    "others cannot reach a worker. Then begin a new attempt with `kubectl pdj restart`.",
    Who.USER,
)
PROGRESS = {
    "problem": "progress unknown: {}",
    "empty": "no output yet",
    "none": "no step in the last lines",
    "epoch": "epoch {}",
    "step": "step {}",
    "rate": "{} samples/s",
    "end": "done in {}",
    "checkpoint": "checkpoint {}",
    "ago": " ({} ago)",
    "same": "this step for {}",
    "quiet": "a pause until {} was announced",
    "output": "last output {} ago",
    "ahead": "last output {} in the future: the node's clock is ahead",
    "forming": "the launchers form their group again and again, and nothing is trained",
    "first": "{} fell silent first, at {}; the others wrote until {}",
}
LABELS = {
    "neverFits": "each pod of {} asks for {} {}, but no node has more than {}: it never fits",
    "state": "State",
    "since": "since",
    "why": "Why",
    "next": "Next",
    "who": "Who",
    "said": "The operator says",
    "failures": "Earlier attempts",
    "events": "Warnings",
    "training": "Training",
    "lastLines": "Its last lines",
    "more": "more",
    "history": "Before this",
    "nodes": "Nodes",
    "quota": "Quota",
    "group": "PodGroup",
    "queue": "Queue",
    "etcd": "etcd",
    "peers": "The last lines of the other pods",
    "peersGone": "gone with the pods; with spec.cleanPodPolicy: Never the next job keeps its pods",
    "noEtcd": "there is no Service {0} in namespace {1}, so launchers cannot meet: "
    "kubectl -n {1} create -f manifests/elastic/etcd.yaml",
    "hidden": "not allowed to see",
}
WHO = {
    Who.NOBODY: "nobody: it goes on by itself",
    Who.USER: "you, the owner of the job",
    Who.ADMIN: "an administrator of the cluster",
    Who.OPERATOR: "the operator, by itself",
}
TEXTS: Texts = {
    **training.ENGLISH,
    Reason.CREATED: Text(
        "The operator has seen the job and begins to create its pods.",
        "Wait for the pods.",
        Who.NOBODY,
    ),
    Reason.ADOPTED: Text(
        "Another operator has started this job, and its pods keep running.",
        "Nothing: the job goes on to its end.",
        Who.NOBODY,
    ),
    Reason.PODS_CREATED: Text(
        "A restart is over: the pods of the new attempt exist.",
        "Wait until they run.",
        Who.NOBODY,
    ),
    Reason.ALL_PODS_RUNNING: Text(
        "Every pod runs.",
        "Follow it with `kubectl pdj logs -f`.",
        Who.NOBODY,
    ),
    Reason.ALL_PODS_SCHEDULED: Text(
        "Every pod has a node; the nodes pull images and start containers.",
        "Wait; large images take minutes.",
        Who.NOBODY,
    ),
    Reason.NOT_ALL_SCHEDULED: Text(
        "A pod has no node yet, or does not exist.",
        "See the condition Pending, which says what it waits for.",
        Who.NOBODY,
    ),
    Reason.NOT_ALL_RUNNING: Text(
        "A pod does not run yet, or not any more.",
        "See the pods with `kubectl pdj status`.",
        Who.NOBODY,
    ),
    Reason.WORKERS_SUCCEEDED: Text(
        "The workers (in an elastic job: enough of them) have succeeded, and so has the job.",
        "Nothing is left to do; `kubectl pdj delete` removes it.",
        Who.NOBODY,
    ),
    Reason.SUSPENDED: Text(
        "spec.suspend is true: a user or a queue has suspended the job, so it has no pods.",
        "Run `kubectl pdj resume`, or wait for the queue that suspended the job, such as Kueue.",
        Who.USER,
    ),
    Reason.RESUMED: Text(
        "The job was resumed and begins a new attempt.",
        "Wait for the pods.",
        Who.NOBODY,
    ),
    Reason.ENDED: Text(
        "The attempt or the job that this condition described is over.",
        "See what the job does now.",
        Who.NOBODY,
    ),
    Reason.COMPLETED: Text(
        "The job has succeeded.",
        "Nothing is left to do; `kubectl pdj delete` removes it.",
        Who.NOBODY,
    ),
    Reason.FAILED: Text(
        "The job has failed.",
        "See the condition Failed, which says why.",
        Who.USER,
    ),
    Reason.UNSCHEDULABLE: Text(
        "The scheduler finds no node for a pod: too little CPU, memory or GPUs is free, or no node "
        "matches its selector, affinity or tolerations.",
        "Ask for less, correct nodeSelector and tolerations, wait for other jobs to end, or have "
        "nodes added. startingDeadlineSeconds bounds the wait.",
        Who.USER,
    ),
    Reason.PARTLY_PLACED: Text(
        "Some pods have nodes or quota, but there is no room for the others. Until all pods are "
        "placed, no program of the job starts.",
        "Nothing for now: when the time of --give-back-after is over, the operator deletes the "
        "pods, so that other jobs can use the room, and creates all of them again later. No "
        "restart is counted. End other jobs or ask for less; a gang scheduler places the whole "
        "job or nothing.",
        Who.OPERATOR,
    ),
    Reason.WAITING_FOR_PODS: Text(
        "The pods are being started, and nothing is known to delay them.",
        "Wait; nodes pull images and start containers.",
        Who.NOBODY,
    ),
    Reason.QUOTA_EXCEEDED: Text(
        "A ResourceQuota of the namespace refuses a pod or another object of the job.",
        "End other jobs of the namespace, ask for less, or have the quota raised; the operator "
        "retries by itself.",
        Who.USER,
    ),
    **kueue.ENGLISH_REASONS,
    Reason.POD_GROUP_PENDING: Text(
        "The batch scheduler has not admitted the gang yet: its queue or the cluster is full.",
        "Wait for room in the queue, or ask for less. With Volcano, check that its scheduler runs "
        "and that the queue exists.",
        Who.USER,
    ),
    Reason.POD_GROUP_UNAVAILABLE: Text(
        "The API server serves no such PodGroups (Volcano is not installed or, with --scheduling="
        "kubernetes, feature gates are off), or the user's PodGroup was deleted.",
        "The message says which: have Volcano installed, or leave out schedulingPolicy and "
        "schedulerName: volcano; have the feature gates enabled; or create the PodGroup again.",
        Who.ADMIN,
    ),
    Reason.POD_GROUP_INVALID: Text(
        "Your PodGroup asks for more members than the job has pods, so it is never admitted.",
        "Lower minMember of the PodGroup, or raise the job's replicas.",
        Who.USER,
    ),
    Reason.CREATE_REFUSED: Text(
        "The API server refuses an object of the job: pod security, a webhook, or missing rights.",
        "Read the message: change the pod template to what the namespace allows, or have the "
        "policy or the operator's rights changed. The operator tries again by itself.",
        Who.USER,
    ),
    Reason.DELETE_REFUSED: Text(
        "The API server refuses to delete an object of the job: a webhook, or missing rights.",
        "Have the webhook or the operator's rights corrected; the operator retries by itself.",
        Who.ADMIN,
    ),
    Reason.PATCH_REFUSED: Text(
        "The API server refuses to change an object of the job: a policy, or missing rights.",
        "Have the policy or the operator's rights corrected; the operator retries by itself.",
        Who.ADMIN,
    ),
    Reason.NAME_CONFLICT: Text(
        "Another object already has the name that the operator needs for an object of this job.",
        "Delete that other object, or submit the job under another name.",
        Who.USER,
    ),
    Reason.STATUS_UNREADABLE: Text(
        "Another tool has written a status that the operator cannot use, so it ignores the job.",
        "Ask someone who can write paddlejobs/status to correct or remove the field that the "
        "message names; or delete the job and submit it again.",
        Who.ADMIN,
    ),
    Reason.NO_FREE_PORTS: Text(
        "With intranet: Host each pod needs a port range on its node, and other jobs use them all.",
        "Wait for other jobs to end, use intranet: PodIP, or have --host-port-range or "
        "--host-port-share of the operator raised.",
        Who.USER,
    ),
    Reason.PODS_TERMINATING: Text(
        "Pods of the last attempt, or objects of a deleted job of this name, still exist; new pods "
        "are created after they are gone.",
        "Wait for their grace period. A pod on a lost node is deleted after some minutes.",
        Who.NOBODY,
    ),
    Reason.CHILDREN_TERMINATING: Text(
        "The job is being deleted, but a finalizer, a node or a webhook keeps one of its objects.",
        "Remove the cause that the message names. A PodGroup of scheduling.k8s.io stays if the "
        "controller-manager lacks the feature gates of PodGroups.",
        Who.ADMIN,
    ),
    Reason.BACK_OFF: Text(
        "The last attempt has failed, and the next one waits a while: 10 s, doubling up to 6 min.",
        "Wait, and look at what ended the last attempt.",
        Who.OPERATOR,
    ),
    Reason.POD_FAILED: Text(
        "A trainer has exited with an error, or its pod has exceeded a limit of its own.",
        "Read its last lines in the failure record and correct the program, or raise the limit "
        "that the message names; backoffLimit allows restarts.",
        Who.USER,
    ),
    Reason.POD_EVICTED: Text(
        "The cluster has ended a pod: eviction, preemption, or a node that did not accept it. The "
        "restart is not counted against backoffLimit.",
        "Nothing; if it repeats, ask for the memory and disk that the pods use, or for a higher "
        "priority.",
        Who.OPERATOR,
    ),
    Reason.POD_VANISHED: Text(
        "Somebody has deleted a pod. The others know its old address, so all pods start again.",
        "Nothing; do not delete pods of a running job.",
        Who.OPERATOR,
    ),
    Reason.ADDRESS_CHANGED: Text(
        "A pod has another address than the one that its peers have.",
        "Nothing; all pods start again with the new addresses.",
        Who.OPERATOR,
    ),
    Reason.STALE_CONFIG_MAP: Text(
        "A pod's node gives it the ConfigMap of a former job of this name, which a kubelet keeps "
        "until that job's last pod is cleaned up. The restart is not counted against backoffLimit.",
        "Nothing; the next attempt's ConfigMap has a name of its own.",
        Who.OPERATOR,
    ),
    Reason.NODE_LOST: Text(
        "A pod's node is gone, silent or tainted. A restart is not counted against backoffLimit.",
        "Have an administrator check the node; delete a pod that stays on it for ever.",
        Who.ADMIN,
    ),
    Reason.TRAINER_ASKED_RESTART: Text(
        "A trainer exited with 101 or 102, by which PaddlePaddle's launcher asks for a restart.",
        "Nothing; the restart is not counted against backoffLimit.",
        Who.OPERATOR,
    ),
    Reason.FAILURE_POLICY_IGNORE: Text(
        "A pod has failed; by podFailurePolicy the restart is not counted against backoffLimit.",
        "Nothing; all pods start again.",
        Who.OPERATOR,
    ),
    Reason.ELASTIC_UNTRAINED: Text(
        "An elastic launcher exited with 0, but had not met enough peers to train.",
        "Nothing; if it repeats, check that all workers get nodes, and that etcd can be reached.",
        Who.OPERATOR,
    ),
    Reason.RESTART_REQUESTED: Text(
        "A user asked for a new attempt (`kubectl pdj restart`).",
        "Wait for the pods of the new attempt.",
        Who.NOBODY,
    ),
    Reason.BACKOFF_LIMIT_EXCEEDED: Text(
        "The job has failed: more restarts were counted than backoffLimit allows.",
        "Read in status.failures what ended the attempts, correct the program, and submit the job "
        "again.",
        Who.USER,
    ),
    Reason.RESTART_LOOP: Text(
        "The job has failed: it was restarted 100 times in a row and never ran for a minute.",
        "Read in status.failures what ended the attempts, correct it, and submit the job again.",
        Who.USER,
    ),
    Reason.POD_FAILURE_POLICY: Text(
        "The job has failed: a rule of podFailurePolicy ends the job after such a failure.",
        "Correct the program or the rule, and submit the job again.",
        Who.USER,
    ),
    Reason.DEADLINE_EXCEEDED: Text(
        "The job has failed: activeDeadlineSeconds have passed.",
        "Allow more time or more workers, and submit the job again.",
        Who.USER,
    ),
    Reason.STARTING_DEADLINE_EXCEEDED: Text(
        "The job has failed: startingDeadlineSeconds have passed and not every pod has run.",
        "See what the pods waited for, correct it or allow more time, and submit the job again.",
        Who.USER,
    ),
    Reason.IMAGE_ERROR: Text(
        "An image cannot be pulled, or its name is invalid; the job fails if that lasts.",
        "Correct the image's name or tag, or the imagePullSecrets of the template, and submit the "
        "job again.",
        Who.USER,
    ),
    Reason.CONFIG_ERROR: Text(
        "A kubelet cannot start a container, such as for a missing ConfigMap, Secret or key; the "
        "job fails if that lasts.",
        "Read the message; create the missing object or correct the template.",
        Who.USER,
    ),
    Reason.INVALID_SPEC: Text(
        "The spec breaks a rule that the API server could not check, and the job fails; or the API "
        "server refuses an object of the job as invalid, and the job fails if that lasts.",
        "Correct the field that the message names (`kubectl pdj lint` finds most), and submit the "
        "job again.",
        Who.USER,
    ),
    Reason.ENDPOINTS_TOO_LONG: Text(
        "The job has failed: the list of endpoints is longer than one environment variable can be.",
        "Use fewer pods, or intranet: PodIP, whose endpoints are shorter.",
        Who.USER,
    ),
    Reason.OWNED_VARIABLE: Text(
        "The template sets a variable or field that the operator sets; its value is dropped.",
        "Remove the variable or field from the template.",
        Who.USER,
    ),
    Reason.FORCE_DELETED: Text(
        "Pods on lost nodes were deleted without waiting for their nodes.",
        "The job needs nothing; have an administrator check the nodes.",
        Who.ADMIN,
    ),
}
