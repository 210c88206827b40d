"""The meaning of every reason, in English and Chinese: cause, who acts next, and what to do.

`kubectl pdj explain`, its page and docs/reference.md are made from this catalogue.
"""

from typing import Final

from api.catalogue.meaning import Meaning, Who
from api.catalogue.reported import REPORTED
from api.constants import Reason

NOBODY, USER, ADMIN, OPERATOR = Who.NOBODY, Who.USER, Who.ADMIN, Who.OPERATOR
# fmt: off
REASONS: Final[dict[str, Meaning]] = {
    Reason.CREATED: Meaning(NOBODY, "Event",
        ("The operator has seen the job and begins to create its pods.",
         "operator 已看到作业，开始创建 Pod。"),
        ("Wait for the pods.", "等待 Pod。"),
        ("Left out if all pods of the job already run.", "若作业的全部 Pod 已在运行，则省略。")),
    Reason.ADOPTED: Meaning(NOBODY, "Adopted, Event",
        ("paddle-operator 0.3 has started this job, and its pods keep running.",
         "作业由 paddle-operator 0.3 启动，它的 Pod 原样继续运行。"),
        ("Nothing: the job goes on to its end.", "无需操作：作业会运行到结束。")),
    Reason.PODS_CREATED: Meaning(NOBODY, "Restarting (false)",
        ("A restart is over: the pods of the new attempt exist.",
         "重启已完成：新一次尝试的 Pod 已存在。"),
        ("Wait until they run.", "等待它们运行。")),
    Reason.ALL_PODS_RUNNING: Meaning(NOBODY, "Running, Pending (false), Event",
        ("Every pod runs.", "所有 Pod 都在运行。"),
        ("Follow it with `kubectl pdj logs --follow`.",
         "用 `kubectl pdj logs --follow` 跟踪日志。")),
    Reason.ALL_PODS_SCHEDULED: Meaning(NOBODY, "PodsScheduled",
        ("Every pod has a node; the nodes pull images and start containers.",
         "所有 Pod 都已分配节点；节点正在拉取镜像并启动容器。"),
        ("Wait; large images take minutes.", "请等待；大镜像需要几分钟。")),
    Reason.NOT_ALL_SCHEDULED: Meaning(NOBODY, "PodsScheduled (false)",
        ("A pod has no node yet, or does not exist.", "有 Pod 还没有节点，或尚不存在。"),
        ("See the condition Pending, which says what it waits for.",
         "查看 Pending 条件，它说明在等什么。")),
    Reason.NOT_ALL_RUNNING: Meaning(NOBODY, "Running (false)",
        ("A pod does not run yet, or not any more.", "有 Pod 尚未运行或不再运行。"),
        ("See the pods with `kubectl pdj status`.", "用 `kubectl pdj status` 查看各 Pod。")),
    Reason.WORKERS_SUCCEEDED: Meaning(NOBODY, "Completed, Event",
        ("The workers (in an elastic job: enough of them) have succeeded, and so has the job.",
         "所有 worker（弹性作业：足够多的 worker）都已成功，作业也已成功。"),
        ("Nothing is left to do; `kubectl pdj delete` removes it.",
         "无需再做什么；可用 `kubectl pdj delete` 删除。")),
    Reason.ENDED_EARLY: Meaning(USER, "Completed, Event",
        ("All workers have exited with 0, but the last step in the log is less than half of the "
         "total: the program ended before its training was done.",
         "所有 worker 都以 0 退出，但日志中的最后一步不到总步数的一半：训练没有做完。"),
        ("See why in the last lines of `kubectl pdj logs`: data that ran out, a limit on steps, an "
         "error that was caught. If it was meant to stop early, nothing is left to do.",
         "用 `kubectl pdj logs` 查看最后几行：数据用完、步数有上限，还是捕获了错误。若本就打算"
         "提前停止，则无需再做什么。"),
        ("With `--progress`: the log is read once more when the pods have ended.",
         "使用 `--progress` 时：Pod 结束后会再读取一次日志。")),
    Reason.SUSPENDED: Meaning(USER, "Suspended, Event",
        ("spec.suspend is true: a user or a queue has suspended the job, so it has no pods.",
         "spec.suspend 为 true：作业被用户或队列挂起，没有 Pod。"),
        ("Run `kubectl pdj resume`, or wait for the queue that suspended the job, such as Kueue.",
         "执行 `kubectl pdj resume`，或等待挂起它的队列（例如 Kueue）。")),
    Reason.RESUMED: Meaning(NOBODY, "Suspended (false), Running (false), Event",
        ("The job was resumed and begins a new attempt.", "作业已恢复，开始新的尝试。"),
        ("Wait for the pods.", "等待 Pod。")),
    Reason.ENDED: Meaning(NOBODY, "any (false)",
        ("The attempt or the job that this condition described is over.",
         "该条件所属的尝试或作业已结束。"),
        ("See what the job does now.", "查看作业当前的状态。")),
    Reason.COMPLETED: Meaning(NOBODY, "Finished",
        ("The job has succeeded.", "作业已成功。"),
        ("Nothing is left to do; `kubectl pdj delete` removes it.",
         "无需再做什么；可用 `kubectl pdj delete` 删除。")),
    Reason.FAILED: Meaning(USER, "Finished",
        ("The job has failed.", "作业已失败。"),
        ("See the condition Failed, which says why.", "查看条件 Failed，它说明了原因。")),
    Reason.UNSCHEDULABLE: Meaning(USER, "Pending",
        ("The scheduler finds no node for a pod: too little CPU, memory or GPUs is free, or no "
         "node matches its selector, affinity or tolerations.",
         "调度器找不到合适的节点：空闲的 CPU、内存或 GPU 不足，"
         "或没有节点符合选择器、亲和性或容忍。"),
        ("Ask for less, correct nodeSelector and tolerations, wait for other jobs to end, or "
         "have nodes added. startingDeadlineSeconds bounds the wait.",
         "减少资源请求，修正 nodeSelector 和容忍，等待其他作业结束，或增加节点。"
         "startingDeadlineSeconds 可限制等待时间。")),
    Reason.PARTLY_PLACED: Meaning(OPERATOR, "Pending, Event",
        ("Some pods have nodes or quota, but there is no room for the others. Until all pods "
         "are placed, no program of the job starts.",
         "部分 Pod 已占用节点或配额，其余的没有空间。全部 Pod 都有位置之前，作业的程序不会启动。"),
        ("Nothing for now: when the time of --give-back-after is over, the operator deletes the "
         "pods, so that other jobs can use the room, and creates all of them again later. No "
         "restart is counted. End other jobs or ask for less; a gang scheduler places the whole "
         "job or nothing.",
         "暂时无需处理：超过 --give-back-after 后，operator 会删除这些 Pod，让其他作业使用空间，"
         "稍后再重新创建全部 Pod；这不计为重启。可以结束其他作业或减少请求；成组调度器要么放置整"
         "个作业，要么全部不放。"),
        ("Or the job has deleted its pods for this reason, and waits before it tries again "
         "([how](gangs.md#without-a-scheduler-for-gangs)); the Event is sent when the pods are "
         "deleted.",
         "或者作业已因此删除了它的 Pod，稍后再试（[说明](gangs.zh.md#没有成组调度器时)）；"
         "删除 Pod 时发送 Event。")),
    Reason.WAITING_FOR_PODS: Meaning(NOBODY, "Pending",
        ("The pods are being started. If something is known to delay one, the message names it.",
         "Pod 正在启动。若已知某个 Pod 受阻，信息会指出它。"),
        ("Wait; nodes pull images and start containers. If the message names a pod, do what it "
         "says.",
         "请等待；节点在拉取镜像并启动容器。若信息指出了某个 Pod，请按信息处理。"),
        ("A pod is named if it has waited for two minutes for a scheduler, for an address or for "
         "an init container. Without an address, its volumes and devices are named; why one is "
         "not ready, only the pods' Events say, which `kubectl pdj explain` reads.",
         "若 Pod 等待调度器、地址或 init 容器超过两分钟，信息会指出它。没有地址时会列出它的卷和"
         "设备；它们为何没有就绪，只有 Pod 的 Event 说明，`kubectl pdj explain` 会读取。")),
    Reason.QUOTA_EXCEEDED: Meaning(USER, "Pending, Event",
        ("A ResourceQuota of the namespace refuses a pod or another object of the job.",
         "命名空间的 ResourceQuota 拒绝了作业的 Pod 或其他子对象。"),
        ("End other jobs of the namespace, ask for less, or have the quota raised; the operator "
         "retries by itself.",
         "结束该命名空间中的其他作业，减少请求，或请管理员提高配额；operator 会自动重试。")),
    Reason.POD_GROUP_PENDING: Meaning(USER, "Pending",
        ("The PodGroup does not exist yet, or the batch scheduler has not admitted it: its "
         "queue or the cluster is full.",
         "PodGroup 尚不存在，或批调度器尚未放行它：队列已满，或整组 Pod 找不到同时容纳的空间。"),
        ("Wait for room in the queue, or ask for less. With Volcano, check that its scheduler "
         "runs and that the queue exists.",
         "等待队列空出，或减少请求。使用 Volcano 时，请检查其调度器是否运行、队列是否存在。")),
    Reason.POD_GROUP_UNAVAILABLE: Meaning(ADMIN, "Pending, Running, Event",
        ("The API server serves no such PodGroups (Volcano is not installed or, with "
         "--scheduling=kubernetes, feature gates are off), or the user's PodGroup was deleted.",
         "API server 不提供作业所需的 PodGroup：未安装 Volcano，或（--scheduling=kubernetes 时）"
         "特性门控未打开；或者用户的 PodGroup 已被删除。"),
        ("The message says which: have Volcano installed, or leave out schedulingPolicy and "
         "schedulerName: volcano; have the feature gates enabled; or create the PodGroup again.",
         "原因见信息。未安装 Volcano：请安装，或去掉 schedulingPolicy 和 schedulerName: volcano；"
         "特性门控未打开：请打开；PodGroup 已被删除：请重新创建。")),
    Reason.POD_GROUP_INVALID: Meaning(USER, "Pending, Running, Event",
        ("Your PodGroup asks for more members than the job has pods, so it is never admitted.",
         "您的 PodGroup 要求的成员数多于作业的 Pod 数，因此永远不会被放行。"),
        ("Lower minMember of the PodGroup, or raise the job's replicas.",
         "减小 PodGroup 的 minMember，或增加作业的副本数。")),
    Reason.QUEUED: Meaning(USER, "Pending",
        ("Kueue has not admitted the job yet: its queue has no free quota for it, or is not set "
         "up.",
         "Kueue 尚未放行该作业：队列里没有足够的空闲配额，或者队列没有配置好。"),
        ("Wait for quota, or ask for less; the message has Kueue's reason, and docs/kueue.md "
         "says what to do about each.",
         "请等待配额，或减少请求；信息里有 Kueue 的原因，docs/kueue.zh.md 说明每种原因如何处理。"),
        ("Needs `--kueue`: [kueue.md](kueue.md).", "需要 `--kueue`：[kueue.zh.md](kueue.zh.md)。")),
    Reason.QUEUE_UNAVAILABLE: Meaning(ADMIN, "Pending",
        ("The job has a queue's label, but Kueue is not installed, or the operator has no right "
         "to Workloads.",
         "作业带有队列标签，但未安装 Kueue，或者 operator 无权读取 Workload。"),
        ("Have Kueue installed, or the operator's right granted; or remove the queue's label.",
         "请安装 Kueue 或授予权限，或去掉作业的标签 kueue.x-k8s.io/queue-name。")),
    Reason.CREATE_REFUSED: Meaning(USER, "Pending, Event",
        ("The API server refuses an object of the job: pod security, a webhook, or missing "
         "rights.",
         "API server 拒绝 operator 创建子对象：Pod 安全标准、webhook，或 operator 权限不足。"),
        ("Change the pod template to what the namespace allows, or have the policy or the "
         "operator's rights changed; the operator retries by itself.",
         "按命名空间的要求修改 Pod 模板，或请管理员修改策略或权限；operator 会自动重试。")),
    Reason.CREATE_UNANSWERED: Meaning(ADMIN, "Pending, Event",
        ("The API server cannot create an object of the job: a webhook that it has to ask, such as "
         "Kueue's, does not answer, or the API server itself has trouble. Nobody has refused it.",
         "API server 无法创建作业的子对象：它必须询问的 webhook（例如 Kueue 的）没有响应，"
         "或它自身有故障。并没有谁拒绝它。"),
        ("Have the service that the message names repaired; the template is not at fault, and the "
         "operator retries by itself.",
         "请管理员修复信息中提到的服务；Pod 模板没有问题，operator 会自动重试。"),
        ("Also if a create in this namespace failed after 5 s or more, for example because a "
         "webhook hangs: other jobs of the namespace that need the same kind of object then "
         "report it first, and try later.",
         "本命名空间的某次创建在 5 秒以上才失败（例如 webhook 没有响应）时也是如此：需要同类对象"
         "的其他作业会先报告它，稍后再试。")),
    Reason.DELETE_REFUSED: Meaning(ADMIN, "Pending, Event",
        ("The API server refuses to delete an object of the job: a webhook, or missing rights.",
         "API server 拒绝 operator 删除子对象：webhook，或 operator 权限不足。"),
        ("Have the webhook or the operator's rights corrected; the operator retries by itself.",
         "请管理员修正 webhook 或 operator 的权限；operator 会自动重试。")),
    Reason.PATCH_REFUSED: Meaning(ADMIN, "Pending, Running, Event",
        ("The API server refuses to change an object of the job: a policy, or missing rights.",
         "API server 拒绝 operator 修改子对象：准入策略、webhook，或 operator 权限不足。"),
        ("Have the policy or the operator's rights corrected; the operator retries by itself.",
         "请管理员修正策略、webhook 或 operator 的权限；operator 会自动重试。"),
        ("What needs no such change goes on.", "不需要这项修改的部分照常进行。")),
    Reason.NAME_CONFLICT: Meaning(USER, "Pending, Event",
        ("Another object already has the name that the operator needs for an object of this job.",
         "operator 要为该作业创建的对象，其名称已被另一个对象占用。"),
        ("Delete that other object, or submit the job under another name.",
         "删除那个对象，或换个名称提交作业。")),
    Reason.STATUS_UNREADABLE: Meaning(ADMIN, "Pending, Event",
        ("Another tool has written a status that the operator cannot use, so it ignores the job.",
         "其他工具写入了 operator 无法继续处理的状态，因此它不再改动这个作业。"),
        ("Ask someone who can write paddlejobs/status to correct or remove the field that the "
         "message names; or delete the job and submit it again.",
         "请有权写 paddlejobs/status 的人改正或删除信息中指出的字段；或者删除作业后重新提交。"),
        ("Nothing is done for the job until then.", "在此之前不对该作业做任何处理。")),
    Reason.NO_FREE_PORTS: Meaning(USER, "Pending",
        ("With intranet: Host each pod needs a port range on its node, and other jobs use them "
         "all.",
         "使用 intranet: Host 时，每个 Pod 需要节点上的一段端口，而其他作业已将其全部占用。"),
        ("Wait for other jobs to end, use intranet: PodIP, or have --host-port-range or "
         "--host-port-share of the operator raised.",
         "等待其他作业结束，改用 intranet: PodIP，或请管理员增大 operator 的 --host-port-range "
         "或 --host-port-share。"),
        ("The message says whether it is the share of this namespace, or the ranges of the "
         "whole cluster.",
         "信息说明用完的是本命名空间的份额，还是整个集群的端口段。")),
    Reason.PODS_TERMINATING: Meaning(NOBODY, "Pending",
        ("Pods of the last attempt, or objects of a deleted job of this name, still exist; new "
         "pods are created after they are gone.",
         "上一次尝试的 Pod 或已删除的同名作业的对象仍然存在；它们消失后才创建新的 Pod。"),
        ("Wait for their grace period. A pod on a lost node is deleted after some minutes.",
         "等待宽限期结束。失联节点上的 Pod 会在几分钟后被删除。")),
    Reason.CHILDREN_TERMINATING: Meaning(ADMIN, "Pending",
        ("The job is being deleted, but a finalizer, a node or a webhook keeps one of its "
         "objects.",
         "作业正在删除，但有子对象留着：被终结器、节点或 webhook 挡住。"),
        ("Remove the cause that the message names. A PodGroup of scheduling.k8s.io stays if the "
         "controller-manager lacks the feature gates of PodGroups.",
         "请管理员解除信息中指出的阻碍。controller-manager 若未打开特性门控，scheduling.k8s.io "
         "的 PodGroup 就会留着。")),
    Reason.BACK_OFF: Meaning(OPERATOR, "Pending",
        ("The last attempt has failed, and the next one waits a while: 10 s, doubling up to 6 "
         "min.",
         "上一次尝试失败，下一次要等一会儿：10 秒起，逐次加倍，最多 6 分钟。"),
        ("Wait, and look at what ended the last attempt.", "请等待，并查看上一次尝试因何结束。")),
    Reason.POD_FAILED: Meaning(USER, "Restarting, Failed, Event",
        ("A trainer has exited with an error.", "训练程序以错误退出。"),
        ("Read its last lines in the failure record and correct the program; backoffLimit allows "
         "restarts.",
         "阅读失败记录中的最后几行日志并修正程序；设置 backoffLimit 后会自动重启。"),
        ("Or its pod has exceeded a limit of its own: raise what the message names.",
         "或其 Pod 超出了自身的限额：请提高信息所指的限额。")),
    Reason.POD_EVICTED: Meaning(OPERATOR, "Restarting, Event",
        ("The cluster has ended a pod: eviction, preemption, a node that did not accept it, or an "
         "init container that admission had added. The restart is not counted against "
         "backoffLimit.",
         "集群终止了 Pod：驱逐、抢占、节点不接受它，或准入时加入的 init 容器失败。这次重启不计入"
         " backoffLimit。"),
        ("Nothing; if it repeats, ask for the memory and disk that the pods use, or for a "
         "higher priority.",
         "无需操作；若反复发生，请按实际用量申请内存和磁盘，或提高优先级。")),
    Reason.POD_VANISHED: Meaning(OPERATOR, "Restarting, Event",
        ("A pod is gone: somebody has deleted it, or it was evicted while no operator led, as in a "
         "drain of the operator's own node. The others know its old address, so all pods start "
         "again.",
         "一个 Pod 不见了：有人删除了它，或者它在没有 operator 领导时被驱逐，"
         "例如 drain operator 自己的节点时。其他 Pod 只知道它原来的地址，所以全部 Pod 重新启动。"),
        ("Nothing; do not delete pods of a running job.",
         "无需操作；请不要删除运行中作业的 Pod。")),
    Reason.ADDRESS_CHANGED: Meaning(OPERATOR, "Restarting, Event",
        ("A pod has another address than the one that its peers have.",
         "一个 Pod 的地址与其他 Pod 所知的不同。"),
        ("Nothing; all pods start again with the new addresses.",
         "无需操作；全部 Pod 以新地址重新启动。")),
    Reason.STALE_CONFIG_MAP: Meaning(OPERATOR, "Restarting, Event",
        ("A pod's node gives it the ConfigMap of a former job of this name, which a kubelet "
         "keeps until that job's last pod is cleaned up. The restart is not counted against "
         "backoffLimit.",
         "Pod 所在的节点给了它同名旧作业的 ConfigMap：旧作业的最后一个 Pod 清理完之前，kubelet "
         "一直保留它。这次重启不计入 backoffLimit。"),
        ("Nothing; the next attempt's ConfigMap has a name of its own.",
         "无需操作；下一次尝试的 ConfigMap 有自己的名字。")),
    Reason.NODE_LOST: Meaning(ADMIN, "Restarting, Pending, Running, Event",
        ("A pod's node is gone, silent or tainted, or has lost a container. A restart is not "
         "counted against backoffLimit.",
         "Pod 所在的节点消失、没有响应、带有污点，或丢失了容器。因此的重启不计入 backoffLimit。"),
        ("The job needs nothing, unless a pod stays on the node for ever: delete that. Have an "
         "administrator check the node.",
         "作业无需操作；若有 Pod 一直留在该节点上，请将其删除。请管理员检查该节点。"),
        ("In Running and Pending, the pod is still there, as it tolerates every taint or is "
         "about to be evicted.",
         "在 Running 和 Pending 中，Pod 还在：它容忍所有污点，或即将被驱逐。")),
    Reason.TRAINER_ASKED_RESTART: Meaning(OPERATOR, "Restarting, Event",
        ("A trainer exited with 101 or 102, by which PaddlePaddle's launcher asks for a restart.",
         "训练程序以 101 或 102 退出：PaddlePaddle 的启动器以此请求重启。"),
        ("Nothing; the restart is not counted against backoffLimit.",
         "无需操作；这次重启不计入 backoffLimit。")),
    Reason.FAILURE_POLICY_IGNORE: Meaning(OPERATOR, "Restarting, Event",
        ("A pod has failed; by podFailurePolicy the restart is not counted against backoffLimit.",
         "一个 Pod 失败，而按 podFailurePolicy 的规则，这次重启不计入 backoffLimit。"),
        ("Nothing; all pods start again.", "无需操作；全部 Pod 重新启动。")),
    Reason.ELASTIC_UNTRAINED: Meaning(OPERATOR, "Restarting, Event",
        ("An elastic launcher exited with 0, but had not met enough peers to train.",
         "弹性启动器以 0 退出，却没有等到足够的同伴来训练。"),
        ("Nothing; if it repeats, check that all workers get nodes, and that etcd can be "
         "reached.",
         "无需操作；若反复发生，请检查所有 worker 是否都分配到节点、etcd 是否可达。")),
    Reason.EVICTED: Meaning(NOBODY, "Restarting",
        ("Kueue has taken the quota back: another job needs it, or the queue was stopped.",
         "Kueue 收回了作业的配额：另一个作业需要它，或者队列被停用。"),
        ("Nothing: the job is in its queue again; the restart is not counted against "
         "backoffLimit.",
         "无需操作：作业已重新排队，这次重启不计入 backoffLimit。")),
    Reason.TRAINING_STALLED: Meaning(USER, "Restarting, Failed, Event",
        ("The training had stalled for as long as spec.stallPolicy says, so its attempt was "
         "ended.",
         "训练停住的时间达到了 spec.stallPolicy 的上限，这次尝试因此结束。"),
        ("Check the worker that fell silent first (see status.failures) and its node; if it is "
         "a different one each time, check the network between them (NCCL_DEBUG=INFO).",
         "在 status.failures 中查看最早停止输出的 worker 及其节点；若每次都不同，请检查节点间的"
         "网络（NCCL_DEBUG=INFO）。"),
        ("Only if the policy's action is Restart.", "仅当该策略的 action 为 Restart 时。")),
    Reason.RESTART_REQUESTED: Meaning(NOBODY, "Restarting, Event",
        ("A user asked for a new attempt (`kubectl pdj restart`).",
         "用户请求了新的尝试（`kubectl pdj restart`）。"),
        ("Wait for the pods of the new attempt.", "等待新一次尝试的 Pod。"),
        ("The request is the annotation `batch.paddlepaddle.org/restarted-at`.",
         "请求是注解 `batch.paddlepaddle.org/restarted-at`。")),
    Reason.BACKOFF_LIMIT_EXCEEDED: Meaning(USER, "Failed, Event",
        ("The job has failed: more restarts were counted than backoffLimit allows.",
         "作业失败：计数的重启次数超过了 backoffLimit。"),
        ("Read in status.failures what ended the attempts, correct the program, and submit the "
         "job again.",
         "在 status.failures 中查看各次尝试的结束原因，修正程序后重新提交作业。")),
    Reason.RESTART_LOOP: Meaning(USER, "Failed, Event",
        ("The job has failed: it was restarted 100 times in a row and never ran for a minute.",
         "作业失败：连续重启了 100 次，从未运行满一分钟。"),
        ("Read in status.failures what ended the attempts, correct it, and submit the job again.",
         "在 status.failures 中查看各次尝试的结束原因，修正后重新提交作业。")),
    Reason.POD_FAILURE_POLICY: Meaning(USER, "Failed, Event",
        ("The job has failed: a rule of podFailurePolicy ends the job after such a failure.",
         "作业失败：podFailurePolicy 的规则规定这种失败结束作业。"),
        ("Correct the program or the rule, and submit the job again.",
         "修正程序或规则后重新提交作业。")),
    Reason.DEADLINE_EXCEEDED: Meaning(USER, "Failed, Event",
        ("The job has failed: activeDeadlineSeconds have passed.",
         "作业失败：已超过 activeDeadlineSeconds。"),
        ("Allow more time or more workers, and submit the job again.",
         "给更多时间或更多 worker，然后重新提交作业。")),
    Reason.STARTING_DEADLINE_EXCEEDED: Meaning(USER, "Failed, Event",
        ("The job has failed: startingDeadlineSeconds have passed and not every pod has run.",
         "作业失败：已超过 startingDeadlineSeconds，而 Pod 没有全部运行过。"),
        ("See what the pods waited for, correct it or allow more time, and submit the job again.",
         "查看 Pod 在等什么，修正或给更多时间，然后重新提交作业。")),
    Reason.LOSS_NOT_FINITE: Meaning(USER, "LossNotFinite, Failed, Event",
        ("The loss in the log is nan or inf and stays so: the weights are spoiled, and the job "
         "trains for nothing.",
         "日志中的 loss 是 nan 或 inf，并一直如此：权重已经损坏，继续训练没有意义。"),
        ("End the job. Lower the learning rate, clip the gradients or check the data of that "
         "step, and submit it again, from a checkpoint before that step: the last one leads to "
         "the same. stallPolicy.notFinite Fail ends such jobs by itself.",
         "结束该作业。降低学习率、裁剪梯度或检查那一步的数据，再从那一步之前的检查点重新提交：最后"
         "一个检查点只会得到同样的结果。stallPolicy.notFinite 为 Fail 时会自动结束这样的作业。"),
        ("With `--progress`: after three steps; with notFinite Fail the job fails after twenty. "
         "`kubectl pdj` status and explain see it in the log, too.",
         "使用 `--progress` 时：持续三步即报告；notFinite 为 Fail 时，持续二十步后作业失败。"
         "`kubectl pdj` 的 status 和 explain 也能从日志中看出。")),
    Reason.IMAGE_ERROR: Meaning(USER, "Pending, Failed, Event",
        ("An image cannot be pulled, or its name is invalid; the job fails if that lasts.",
         "镜像无法拉取，或镜像名无效；若持续如此，作业会失败。"),
        ("Correct the image's name or tag, or the imagePullSecrets of the template, and submit "
         "the job again.",
         "修正镜像名或标签，或模板的 imagePullSecrets，然后重新提交作业。")),
    Reason.CONFIG_ERROR: Meaning(USER, "Pending, Failed, Event",
        ("A kubelet cannot start a container: a ConfigMap, a Secret or a key does not exist, or "
         "something else that the message names; the job fails if that lasts.",
         "kubelet 无法启动某个容器：ConfigMap、Secret 或键不存在，或有信息所指的其他错误；若持"
         "续如此，作业会失败。"),
        ("Create the missing object or correct its name; after any other error, correct the "
         "template.",
         "创建缺少的对象，或修正其名称；其他错误请修正模板。"),
        ("The grace period is short (`--config-error-after`) where no time can heal it, else "
         "that of images (`--image-error-after`).",
         "若等待也无法好转，宽限期较短（`--config-error-after`），否则与镜像相同（"
         "`--image-error-after`）。")),
    Reason.INVALID_SPEC: Meaning(USER, "Pending, Failed, Event",
        ("The spec breaks a rule that the API server could not check, and the job fails; or the "
         "API server refuses an object of the job as invalid, and the job fails if that lasts.",
         "spec 违反了 API server 无法检查的规则，作业失败；或 API server 判定作业的某个对象无效，"
         "若持续如此，作业会失败。"),
        ("Correct the field that the message names (`kubectl pdj lint` finds most), and submit "
         "the job again.",
         "修正信息中指出的字段（`kubectl pdj lint` 能找到大部分）后重新提交。")),
    Reason.ENDPOINTS_TOO_LONG: Meaning(USER, "Failed, Event",
        ("The job has failed: the list of endpoints is longer than one environment variable can "
         "be.",
         "作业失败：端点列表比一个环境变量所能容纳的更长。"),
        ("Use fewer pods, or intranet: PodIP, whose endpoints are shorter.",
         "减少 Pod 数，或使用 intranet: PodIP，其端点较短。")),
    **REPORTED,
}
