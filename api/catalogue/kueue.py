"""What Kueue's own reasons mean, as they stand in a job's Workload."""

from typing import Final

from api.catalogue.meaning import Meaning, Who, Words

NOBODY, USER, ADMIN = Who.NOBODY, Who.USER, Who.ADMIN
# fmt: off
_NOTHING: Final[Words] = ("Nothing: Kueue goes on by itself.", "无需操作：Kueue 会自动继续。")
_SET_UP: Final[Words] = (
    "Have the queue set up: its LocalQueue, its ClusterQueue or its flavors, as the message says.",
    "请让管理员配置好队列：LocalQueue、ClusterQueue 或 flavor，信息里写明缺少什么。")
_OPEN: Final[Words] = (
    "Have the queue's stopPolicy removed.", "请让管理员取消队列的 stopPolicy。")
_CHECKS: Final[Words] = (
    "Wait for the admission checks of the queue: see status.admissionChecks of the Workload.",
    "请等待队列的准入检查：见 Workload 的 status.admissionChecks。")
_ACTIVATE: Final[Words] = (
    "Correct the cause; then set spec.suspend to true and back to false.",
    "请先消除原因，再把 spec.suspend 设为 true，然后设回 false。")
ROWS: Final = (
    ("WaitingForQuota Pending", Meaning(USER, "Queued",
        ("The queue has too little free quota for the job.", "队列的空闲配额不够该作业使用。"),
        ("Wait until other jobs of the queue end, or ask for less.",
         "请等待队列里的其他作业结束，或减少请求。"))),
    ("ExceedsMaxQuota", Meaning(USER, "Queued",
        ("The job asks for more than its queue ever has.", "作业的请求超过了队列的上限。"),
        ("Ask for less, or have the quota raised: it never fits as it is.",
         "请减少请求，或申请提高配额：现在永远放不下。"))),
    ("NoMatchingFlavor", Meaning(USER, "Queued",
        ("No flavor of the queue fits the job's pods.", "队列里没有适合该作业 Pod 的 flavor。"),
        ("Ask for what a flavor of the queue offers: selector, affinity, resources.",
         "请按队列的 flavor 所提供的来请求：selector、affinity、资源。"))),
    ("TopologyPlacementFailed", Meaning(USER, "Queued",
        ("There is quota, but no topology domain has room for the whole job.",
         "配额足够，但没有一个拓扑域能放下该作业。"),
        ("Wait for room in one topology domain, or ask for a higher topology level.",
         "请等待同一拓扑域内有空位，或改用更高的拓扑层级。"))),
    ("WaitingForPreemptedWorkloads", Meaning(NOBODY, "Queued",
        ("Other jobs are being stopped to free quota for this one.",
         "正在停止其他作业，为该作业腾出配额。"), _NOTHING)),
    ("WaitingForPodsReady Waiting", Meaning(NOBODY, "Queued",
        ("Kueue does not admit this job until all pods of the admitted jobs are running.",
         "此前放行的作业的 Pod 全部运行后，Kueue 才放行该作业。"), _NOTHING)),
    ("Misconfigured Inadmissible", Meaning(ADMIN, "Queued",
        ("The queue is not set up for this job.", "队列没有为该作业配置好。"), _SET_UP)),
    ("Suspended OnHold", Meaning(ADMIN, "Queued",
        ("The queue is stopped.", "队列被停用。"), _OPEN)),
    ("PendingEvaluation", Meaning(NOBODY, "Queued",
        ("Kueue is about to decide.", "Kueue 即将作出决定。"), _NOTHING)),
    ("AdmissionGated", Meaning(ADMIN, "Queued",
        ("Kueue does not admit the job while its Workload has the annotation "
         "kueue.x-k8s.io/admission-gated-by.",
         "只要 Workload 带有注解 kueue.x-k8s.io/admission-gated-by，Kueue 就不放行该作业。"),
        ("Wait until the controller that set the annotation removes it, or have it removed.",
         "请等待设置该注解的控制器将其移除，或请管理员移除。"))),
    ("PreemptionGated", Meaning(NOBODY, "Queued",
        ("The job needs quota of other jobs, but a preemption gate of its Workload is closed.",
         "该作业需要其他作业让出配额，但其 Workload 的抢占门（preemption gate）尚未打开。"),
        _NOTHING)),
    ("UnsatisfiedAdmissionChecks UnsatisfiedChecks", Meaning(ADMIN, "Queued",
        ("There is quota, but an admission check is pending.",
         "配额已保留，但还有准入检查未通过。"), _CHECKS)),
    ("PendingDelayedTopologyRequests", Meaning(NOBODY, "Queued",
        ("There is quota, and Kueue is choosing the nodes.", "配额已保留，Kueue 正在选择节点。"),
        _NOTHING)),
    ("Admitted", Meaning(NOBODY, "",
        ("MultiKueue runs the job in another cluster.", "MultiKueue 在另一个集群运行该作业。"),
        _NOTHING)),
    ("Preempted", Meaning(NOBODY, "Evicted",
        ("A job of higher priority needs the quota, or the queue that lent it has taken it back.",
         "优先级更高的作业，或借出配额的一方，需要收回配额。"), _NOTHING)),
    ("FlavorMigration", Meaning(NOBODY, "Evicted",
        ("Kueue moves the job to a better flavor.", "Kueue 正把作业迁移到更合适的 flavor。"),
        _NOTHING)),
    ("PodsReadyTimeout", Meaning(NOBODY, "Evicted",
        ("Not all pods ran within the time that Kueue allows.",
         "在 Kueue 允许的时间内，Pod 没有全部运行。"), _NOTHING)),
    ("AdmissionCheck", Meaning(ADMIN, "Evicted",
        ("An admission check has withdrawn its approval.", "某个准入检查撤回了许可。"), _CHECKS)),
    ("ClusterQueueStopped LocalQueueStopped", Meaning(ADMIN, "Evicted",
        ("The queue was stopped, and its jobs with it.", "队列被停用，其中的作业随之停止。"),
        _OPEN)),
    ("NodeFailures", Meaning(NOBODY, "Evicted",
        ("Nodes that Kueue had chosen have failed.", "Kueue 选定的节点发生故障。"), _NOTHING)),
    ("EvictedOnManagerCluster", Meaning(NOBODY, "Evicted",
        ("The manager cluster of MultiKueue has withdrawn the job from this cluster.",
         "MultiKueue 的管理集群已把作业从本集群撤走。"), _NOTHING)),
    ("WorkloadSliceReplaced", Meaning(NOBODY, "Evicted",
        ("A larger or smaller slice of the Workload replaces this one.",
         "它被另一个大小不同的 Workload slice 取代。"), _NOTHING)),
    ("Deactivated", Meaning(USER, "Evicted",
        ("The job's Workload was made inactive.", "该作业的 Workload 被设为不活动。"), _ACTIVATE)),
    ("RequeuingLimitExceeded", Meaning(USER, "Evicted",
        ("Kueue has stopped the job, because its pods were too often not ready in time.",
         "Pod 多次未能及时就绪，Kueue 已停止该作业。"), _ACTIVATE)),
    ("MaximumExecutionTimeExceeded", Meaning(USER, "Evicted",
        ("The job has run for as long as its label max-exec-time-seconds allows.",
         "作业的运行时间达到了标签 max-exec-time-seconds 的上限。"), _ACTIVATE)),
)
# fmt: on
KUEUE: Final = {reason: row for reasons, row in ROWS for reason in reasons.split()}
"""The meaning by Kueue's reason; `seen` is the reason that the job then has."""
