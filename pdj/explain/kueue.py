"""Why Kueue holds or stops a job, by the reason in the job's Workload, in both languages.

A user without the right to read Workloads gets the text of the job's own reason.
"""

from api.constants import KUEUE_API_VERSION, LABEL_QUEUE, MULTIKUEUE, Reason
from api.job import PaddleJob
from api.objects import Raw
from kube.client import Client
from kube.errors import ApiError, Forbidden
from pdj.explain.texts import Text, Texts, Who

MAX_HOLDERS = 10
_STEPS = {
    "wait": (Who.USER,
        "Wait until other jobs of the queue end, or ask for less.",
        "请等待队列里的其他作业结束，或减少请求。"),
    "less": (Who.USER,
        "Ask for less, or have the quota raised.",
        "请减少请求，或申请提高配额。"),
    "match": (Who.USER,
        "Compare the templates' selector, affinity and resources with the flavors of the queue.",
        "请把模板的 selector、affinity 和资源与队列的 flavor 对照。"),
    "room": (Who.USER,
        "Wait for room in one topology domain, or ask for a higher topology level.",
        "请等待同一拓扑域内有空位，或改用更高的拓扑层级。"),
    "set up": (Who.ADMIN,
        "Have the LocalQueue, its ClusterQueue and its flavors set up; the message names what is "
        "missing.",
        "请让管理员配置好 LocalQueue、ClusterQueue 和 flavor；消息里写明缺少什么。"),
    "open": (Who.ADMIN,
        "Have the queue's stopPolicy removed.",
        "请让管理员取消队列的 stopPolicy。"),
    "checks": (Who.ADMIN,
        "Wait, or see status.admissionChecks of the Workload.",
        "请等待，或查看 Workload 的 status.admissionChecks。"),
    "activate": (Who.USER,
        "Correct the cause; then set spec.suspend to true and back to false.",
        "请先消除原因，再把 spec.suspend 设为 true，然后设回 false。"),
    "gate": (Who.ADMIN,
        "Wait until the controller that set the annotation removes it, or have it removed.",
        "请等待设置该注解的控制器将其移除，或请管理员移除。"),
    "nothing": (Who.NOBODY,
        "Nothing: Kueue goes on by itself.",
        "无需操作：Kueue 会自动继续。"),
}  # fmt: skip
_ROWS = (
    ("wait", "WaitingForQuota Pending",
        "The queue has too little free quota for the job.", "队列的空闲配额不够该作业使用。"),
    ("less", "ExceedsMaxQuota",
        "The job asks for more than its queue ever has.", "作业的请求超过了队列的上限。"),
    ("match", "NoMatchingFlavor",
        "No flavor of the queue fits the job's pods.", "队列里没有适合该作业 pod 的 flavor。"),
    ("room", "TopologyPlacementFailed",
        "There is quota, but no topology domain has room for the whole job.",
        "配额足够，但没有一个拓扑域能放下该作业。"),
    ("nothing", "WaitingForPreemptedWorkloads",
        "Other jobs are being stopped to free quota for this one.",
        "正在停止其他作业，为该作业腾出配额。"),
    ("nothing", "WaitingForPodsReady Waiting",
        "Kueue does not admit this job until all pods of the admitted jobs are running.",
        "此前放行的作业的 pod 全部运行后，Kueue 才放行该作业。"),
    ("set up", "Misconfigured Inadmissible",
        "The queue is not set up for this job.", "队列没有为该作业配置好。"),
    ("open", "Suspended OnHold",
        "The queue is stopped.", "队列被停用。"),
    ("nothing", "PendingEvaluation",
        "Kueue is about to decide.", "Kueue 即将作出决定。"),
    ("gate", "AdmissionGated",
        "Kueue does not admit the job while its Workload has the annotation "
        "kueue.x-k8s.io/admission-gated-by.",
        "只要 Workload 带有注解 kueue.x-k8s.io/admission-gated-by，Kueue 就不放行该作业。"),
    ("nothing", "PreemptionGated",
        "The job needs quota of other jobs, but a preemption gate of its Workload is closed.",
        "该作业需要其他作业让出配额，但其 Workload 的抢占门（preemption gate）尚未打开。"),
    ("checks", "UnsatisfiedAdmissionChecks UnsatisfiedChecks",
        "There is quota, but an admission check is pending.", "配额已保留，但还有准入检查未通过。"),
    ("nothing", "PendingDelayedTopologyRequests",
        "There is quota, and Kueue is choosing the nodes.", "配额已保留，Kueue 正在选择节点。"),
    ("nothing", "Admitted",
        "MultiKueue runs the job in another cluster.", "MultiKueue 在另一个集群运行该作业。"),
    ("nothing", "Preempted",
        "A job of higher priority needs the quota, or the queue that lent it has taken it back.",
        "优先级更高的作业，或借出配额的一方，需要收回配额。"),
    ("nothing", "FlavorMigration",
        "Kueue moves the job to a better flavor.", "Kueue 正把作业迁移到更合适的 flavor。"),
    ("nothing", "PodsReadyTimeout",
        "Not all pods ran within the time that Kueue allows.",
        "在 Kueue 允许的时间内，pod 没有全部运行。"),
    ("checks", "AdmissionCheck",
        "An admission check has withdrawn its approval.", "某个准入检查撤回了许可。"),
    ("open", "ClusterQueueStopped LocalQueueStopped",
        "The queue was stopped, and its jobs with it.", "队列被停用，其中的作业随之停止。"),
    ("nothing", "NodeFailures",
        "Nodes that Kueue had chosen have failed.", "Kueue 选定的节点发生故障。"),
    ("nothing", "EvictedOnManagerCluster",
        "The manager cluster of MultiKueue has withdrawn the job from this cluster.",
        "MultiKueue 的管理集群已把作业从本集群撤走。"),
    ("nothing", "WorkloadSliceReplaced",
        "A larger or smaller slice of the Workload replaces this one.",
        "它被另一个大小不同的 Workload slice 取代。"),
    ("activate", "Deactivated",
        "The job's Workload was made inactive.", "该作业的 Workload 被设为不活动。"),
    ("activate", "RequeuingLimitExceeded",
        "Kueue has stopped the job, because its pods were too often not ready in time.",
        "pod 多次未能及时就绪，Kueue 已停止该作业。"),
    ("activate", "MaximumExecutionTimeExceeded",
        "The job has run for as long as its label max-exec-time-seconds allows.",
        "作业的运行时间达到了标签 max-exec-time-seconds 的上限。"),
)  # fmt: skip


def _texts(language: int) -> dict[str, Text]:
    return {
        reason: Text(row[2 + language], _STEPS[row[0]][1 + language], _STEPS[row[0]][0])
        for row in _ROWS
        for reason in row[1].split()
    }


ENGLISH, CHINESE = _texts(0), _texts(1)
"""The texts by Kueue's reason."""
ENGLISH_REASONS: Texts = {
    Reason.QUEUED: Text(
        "Kueue has not admitted the job yet: its queue has no free quota for it, or is not set up.",
        "Wait for quota, or ask for less; the message has Kueue's reason, and docs/kueue.md says "
        "what to do about each.",
        Who.USER,
    ),
    Reason.QUEUE_UNAVAILABLE: Text(
        "The job has a queue's label, but Kueue is not installed, or the operator has no right to "
        "Workloads.",
        "Have Kueue installed, or the operator's right granted; or remove the queue's label.",
        Who.ADMIN,
    ),
    Reason.EVICTED: Text(
        "Kueue has taken the quota back: another job needs it, or the queue was stopped.",
        "Nothing: the job is in its queue again; the restart is not counted against backoffLimit.",
        Who.NOBODY,
    ),
}
CHINESE_REASONS: Texts = {
    Reason.QUEUED: Text(
        "Kueue 尚未放行该作业：队列里没有足够的空闲配额，或者队列没有配置好。",
        "请等待配额，或减少请求；消息里有 Kueue 的原因，docs/kueue.zh.md 说明每种原因如何处理。",
        Who.USER,
    ),
    Reason.QUEUE_UNAVAILABLE: Text(
        "作业带有队列标签，但未安装 Kueue，或者 operator 无权读取 Workload。",
        "请安装 Kueue 或授予权限，或去掉作业的标签 kueue.x-k8s.io/queue-name。",
        Who.ADMIN,
    ),
    Reason.EVICTED: Text(
        "Kueue 收回了作业的配额：另一个作业需要它，或者队列被停用。",
        "无需操作：作业已重新排队，这次重启不计入 backoffLimit。",
        Who.NOBODY,
    ),
}


def narrow(client: Client, job: PaddleJob, reason: str, text: Text, language: str) -> Text:
    """The text of the reason in the job's Workload, or `text`.

    It is `text` if the job's reason is not about Kueue, the user cannot read the Workload, or the
    Workload's reason is unknown.
    """
    from reconcile.model.workload import condition_named, has_quota  # takes time to import

    if reason not in (Reason.QUEUED, Reason.EVICTED) and job.spec.managed_by != MULTIKUEUE:
        return text
    try:
        workload = client.get(_path(job.namespace, "workloads", job.workload_name))
    except ApiError:
        return text
    type_ = "Admitted" if has_quota(workload) else "QuotaReserved"
    told = condition_named(workload, "Evicted" if reason == Reason.EVICTED else type_)
    cause = str(told.get("reason") or "").rpartition("DueTo")[2]  # DeactivatedDueTo<cause>
    return (CHINESE if language == "zh" else ENGLISH).get(cause, text)


def place_lines(client: Client, job: PaddleJob) -> list[str]:
    """A line with the job's place in its queue; none without an answer of the visibility API."""
    queue = _queue(job)
    path = f"/apis/visibility.{KUEUE_API_VERSION}/namespaces/{job.namespace}/localqueues/{queue}"
    try:
        pending = client.get(f"{path}/pendingworkloads").get("items") or ()
    except ApiError:
        return []
    own = (each for each in pending if each["metadata"]["name"] == job.workload_name)
    return [f"{queue}: {each['positionInLocalQueue'] + 1} of {len(pending)}" for each in own]


def holder_lines(client: Client, job: PaddleJob) -> list[str]:
    """The owners of Workloads with quota in the queue's ClusterQueue, MAX_HOLDERS at most.

    Only those of the job's namespace if the user cannot list all. Raises ApiError.
    """
    from reconcile.model.workload import has_quota  # takes time to import

    queue = _queue(job)
    spec = client.get(_path(job.namespace, "localqueues", queue))["spec"]
    query = {"fieldSelector": f"status.admission.clusterQueue={spec['clusterQueue']}"}
    try:
        workloads, _ = client.list(f"/apis/{KUEUE_API_VERSION}/workloads", query)
    except Forbidden:
        workloads, _ = client.list(_path(job.namespace, "workloads"), query)
    lines = [f"{queue} <- {_owner(each)}" for each in workloads if has_quota(each)]
    more = len(lines) - MAX_HOLDERS
    return lines[:MAX_HOLDERS] + ([f"... {more} more"] if more > 0 else [])


def _queue(job: PaddleJob) -> str:
    return job.labels.get(LABEL_QUEUE, "")


def _owner(workload: Raw) -> str:
    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or [{"kind": "Workload", "name": metadata["name"]}]
    return f"{owners[0]['kind']} {metadata['namespace']}/{owners[0]['name']}"


def _path(namespace: str, plural: str, name: str = "") -> str:
    root = f"/apis/{KUEUE_API_VERSION}/namespaces/{namespace}/{plural}"
    return f"{root}/{name}" if name else root
