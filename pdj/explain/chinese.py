"""The texts in Chinese, and the words around them."""

from api.constants import Reason
from pdj.explain import faults, kueue, training
from pdj.explain.texts import Text, Texts, Who

UNKNOWN = Text(
    "本工具不认识该原因：operator 的版本比本工具新。",
    "请升级 kubectl-pdj，并阅读 operator 给出的信息。",
    Who.USER,
)
NOT_SEEN = Text(
    "还没有 operator 处理过该作业。",
    "若持续一分钟以上：请检查 operator 是否在运行、是否监视此命名空间 "
    "(kubectl get pods -A -l app.kubernetes.io/name=paddlejob-operator)。",
    Who.ADMIN,
)
NOT_OURS = Text(
    "spec.managedBy 把作业交给了另一个控制器。",
    "请查看该控制器，或去掉 managedBy 后重新创建作业。",
    Who.USER,
)
OUT_OF_MEMORY = Text(
    "训练程序内存不足：容器超出了内存上限。",
    "调高容器的 resources.limits.memory，或让程序少用内存（减小 batch、减少数据读取进程）；"
    "作业若已结束，请重新提交。",
    Who.USER,
)
KILLED = Text(
    "训练程序或它的某个进程被 SIGKILL 杀死，多半是内存不足。",
    "申请更多内存（resources.requests 和 limits），或让程序少用内存；若与内存无关，"
    "请查看当时节点和程序的日志。",
    Who.USER,
)
SHARED_MEMORY_FULL = Text(
    "训练程序或它的数据读取进程遇到总线错误（bus error）：/dev/shm 已满。"
    "不挂载卷时容器只有 64 MB。",
    "在 Pod 模板中把 medium: Memory 的 emptyDir 挂载到 /dev/shm，并把它的大小计入内存上限；"
    "或以 num_workers=0 读取数据。",
    Who.USER,
)
DISK_FULL = Text(
    "某个文件系统已满：最后几行指出了无法写入的文件。",
    "请扩大或清理该文件所在的卷；若在容器内部或 emptyDir 中，请调高 "
    "resources.limits.ephemeral-storage 或 sizeLimit；若是 /dev/shm，请挂载 medium: Memory 的 "
    "emptyDir。",
    Who.USER,
)
NO_MODULE = Text(
    "程序导入了镜像中没有的模块。",
    "请把这个包加入镜像；若代码由 --code 发送，请写入 --requirements 的文件；若是自己的模块，"
    "请把 workingDir 或 PYTHONPATH 设为其目录。",
    Who.USER,
)
FAULTS = faults.CHINESE
"""按程序日志显示的故障种类。"""
NOT_SET_UP = Text(
    "节点无法准备好某个 Pod：原因见下面的警告。",
    "修正或创建警告里指出的卷或对象；节点会自动重试。",
    Who.USER,
)
SILENT = Text(
    "所有 Pod 都在运行，但第一个 worker 已有一段时间没有输出：训练可能卡住了。",
    "用 `kubectl pdj logs JOB --tail 1 --timestamps` 查看各 worker 的最后一行：时间最早的那个 "
    "worker 最先停止。若训练确已卡住，用 `kubectl pdj restart JOB` 开始新的一次尝试。"
    "有意的停顿可以事先声明（docs/progress.zh.md）。",
    Who.USER,
)
FORMING = Text(
    "所有 Pod 都在运行，但 launcher 一再重新组队，没有新的一步。",
    "用 `kubectl pdj logs` 查看每次为何散开：程序出错，还是连不上某个 worker；再用 "
    "`kubectl pdj restart` 开始新的一次尝试。",
    Who.USER,
)
PROGRESS = {
    "problem": "进度未知：{}",
    "empty": "还没有输出",
    "none": "最后几行中没有步数",
    "epoch": "epoch {}",
    "step": "第 {} 步",
    "rate": "{} 样本/秒",
    "end": "预计还需 {}",
    "checkpoint": "检查点 {}",
    "ago": "（{} 前）",
    "same": "停在此步已 {}",
    "quiet": "已声明停顿到 {}",
    "output": "最后输出于 {} 前",
    "ahead": "最后输出的时间比现在晚 {}：节点的时钟快了",
    "forming": "launcher 一再重新组队，没有新的一步",
    "first": "{} 最先停止输出（{}），其他 worker 输出到 {}",
}
LABELS = {
    "neverFits": "{} 的每个 Pod 请求 {} {}，而单个节点最多有 {}：永远放不下",
    "state": "状态",
    "since": "已持续",
    "why": "原因",
    "next": "下一步",
    "who": "由谁",
    "said": "operator 的信息",
    "failures": "之前的尝试",
    "events": "警告",
    "training": "训练",
    "lastLines": "最后几行",
    "more": "更多",
    "history": "此前经过",
    "nodes": "节点",
    "quota": "配额",
    "group": "PodGroup",
    "queue": "队列",
    "etcd": "etcd",
    "peers": "其他 Pod 的最后几行",
    "peersGone": "已随 Pod 删除；在下一个作业中设置 spec.cleanPodPolicy: Never 可保留 Pod",
    "noEtcd": "命名空间 {1} 中没有 Service {0}，launcher 无法会合："
    "kubectl -n {1} create -f manifests/elastic/etcd.yaml",
    "hidden": "无权查看",
}
WHO = {
    Who.NOBODY: "无需操作，会自动继续",
    Who.USER: "您（作业的所有者）",
    Who.ADMIN: "集群管理员",
    Who.OPERATOR: "operator 会自动处理",
}
TEXTS: Texts = {
    **training.CHINESE,
    Reason.CREATED: Text("operator 已看到作业，开始创建 Pod。", "等待 Pod。", Who.NOBODY),
    Reason.ADOPTED: Text(
        "作业由另一个 operator 启动，它的 Pod 原样继续运行。",
        "无需操作：作业会运行到结束。",
        Who.NOBODY,
    ),
    Reason.PODS_CREATED: Text(
        "重启已完成：新一次尝试的 Pod 已存在。", "等待它们运行。", Who.NOBODY
    ),
    Reason.ALL_PODS_RUNNING: Text(
        "所有 Pod 都在运行。", "用 `kubectl pdj logs -f` 跟踪日志。", Who.NOBODY
    ),
    Reason.ALL_PODS_SCHEDULED: Text(
        "所有 Pod 都已分配节点；节点正在拉取镜像并启动容器。",
        "请等待；大镜像需要几分钟。",
        Who.NOBODY,
    ),
    Reason.NOT_ALL_SCHEDULED: Text(
        "有 Pod 还没有节点，或尚不存在。", "查看 Pending 条件，它说明在等什么。", Who.NOBODY
    ),
    Reason.NOT_ALL_RUNNING: Text(
        "有 Pod 尚未运行或不再运行。", "用 `kubectl pdj status` 查看各 Pod。", Who.NOBODY
    ),
    Reason.WORKERS_SUCCEEDED: Text(
        "所有 worker 都以退出码 0 结束，作业已成功。",
        "无需再做什么；可用 `kubectl pdj delete` 删除。",
        Who.NOBODY,
    ),
    Reason.SUSPENDED: Text(
        "spec.suspend 为 true：作业被用户或队列挂起，没有 Pod。",
        "执行 `kubectl pdj resume`，或等待挂起它的队列（例如 Kueue）。",
        Who.USER,
    ),
    Reason.RESUMED: Text("作业已恢复，开始新的尝试。", "等待 Pod。", Who.NOBODY),
    Reason.ENDED: Text("该条件所属的尝试或作业已结束。", "查看作业当前的状态。", Who.NOBODY),
    Reason.COMPLETED: Text(
        "作业已成功。",
        "无需再做什么；可用 `kubectl pdj delete` 删除。",
        Who.NOBODY,
    ),
    Reason.FAILED: Text("作业已失败。", "查看条件 Failed，它说明了原因。", Who.USER),
    Reason.UNSCHEDULABLE: Text(
        "调度器找不到合适的节点：空闲的 CPU、内存或 GPU 不足，或没有节点符合选择器、亲和性或容忍。",
        "减少资源请求，修正 nodeSelector 和容忍，等待其他作业结束，或增加节点。"
        "startingDeadlineSeconds 可限制等待时间。",
        Who.USER,
    ),
    Reason.PARTLY_PLACED: Text(
        "部分 Pod 已占用节点或配额，其余的没有空间。全部 Pod 都有位置之前，作业的程序不会启动。",
        "暂时无需处理：超过 --give-back-after 后，operator 会删除这些 Pod，让其他作业使用空间，"
        "稍后再重新创建全部 Pod；这不计为重启。可以结束其他作业或减少请求；"
        "成组调度器要么放置整个作业，要么全部不放。",
        Who.OPERATOR,
    ),
    Reason.WAITING_FOR_PODS: Text(
        "Pod 正在启动，未发现阻碍。", "请等待；节点在拉取镜像并启动容器。", Who.NOBODY
    ),
    Reason.QUOTA_EXCEEDED: Text(
        "命名空间的 ResourceQuota 拒绝了作业的 Pod 或其他子对象。",
        "结束该命名空间中的其他作业，减少请求，或请管理员提高配额；operator 会自动重试。",
        Who.USER,
    ),
    **kueue.CHINESE_REASONS,
    Reason.POD_GROUP_PENDING: Text(
        "批调度器尚未放行这组 Pod：队列已满，或整组 Pod 找不到同时容纳的空间。",
        "等待队列空出，或减少请求。使用 Volcano 时，请检查其调度器是否运行、队列是否存在。",
        Who.USER,
    ),
    Reason.POD_GROUP_UNAVAILABLE: Text(
        "API server 不提供作业所需的 PodGroup：未安装 Volcano，或（--scheduling=kubernetes 时）"
        "特性门控未打开；或者用户的 PodGroup 已被删除。",
        "原因见信息。未安装 Volcano：请安装，或去掉 schedulingPolicy 和 schedulerName: volcano；"
        "特性门控未打开：请打开；PodGroup 已被删除：请重新创建。",
        Who.ADMIN,
    ),
    Reason.POD_GROUP_INVALID: Text(
        "您的 PodGroup 要求的成员数多于作业的 Pod 数，因此永远不会被放行。",
        "减小 PodGroup 的 minMember，或增加作业的副本数。",
        Who.USER,
    ),
    Reason.CREATE_REFUSED: Text(
        "API server 拒绝 operator 创建子对象：Pod 安全标准、webhook，或 operator 权限不足。",
        "阅读信息：按命名空间的要求修改 Pod 模板，或请管理员修改策略或权限；operator 会自动重试。",
        Who.USER,
    ),
    Reason.DELETE_REFUSED: Text(
        "API server 拒绝 operator 删除子对象：webhook，或 operator 权限不足。",
        "请管理员修正 webhook 或 operator 的权限；operator 会自动重试。",
        Who.ADMIN,
    ),
    Reason.PATCH_REFUSED: Text(
        "API server 拒绝 operator 修改子对象：准入策略、webhook，或 operator 权限不足。",
        "请管理员修正策略、webhook 或 operator 的权限；operator 会自动重试。",
        Who.ADMIN,
    ),
    Reason.NAME_CONFLICT: Text(
        "operator 要为该作业创建的对象，其名称已被另一个对象占用。",
        "删除那个对象，或换个名称提交作业。",
        Who.USER,
    ),
    Reason.STATUS_UNREADABLE: Text(
        "其他工具写入了 operator 无法继续处理的状态，因此它不再改动这个作业。",
        "请有权写 paddlejobs/status 的人改正或删除信息中指出的字段；或者删除作业后重新提交。",
        Who.ADMIN,
    ),
    Reason.NO_FREE_PORTS: Text(
        "使用 intranet: Host 时，每个 Pod 需要节点上的一段端口，而其他作业已将其全部占用。",
        "等待其他作业结束，改用 intranet: PodIP，或请管理员增大 operator 的 --host-port-range "
        "或 --host-port-share。",
        Who.USER,
    ),
    Reason.PODS_TERMINATING: Text(
        "上一次尝试的 Pod 或已删除的同名作业的对象仍然存在；它们消失后才创建新的 Pod。",
        "等待宽限期结束。失联节点上的 Pod 会在几分钟后被删除。",
        Who.NOBODY,
    ),
    Reason.CHILDREN_TERMINATING: Text(
        "作业正在删除，但有子对象留着：被终结器、节点或 webhook 挡住。",
        "请管理员解除信息中指出的阻碍。controller-manager 若未打开特性门控，"
        "scheduling.k8s.io 的 PodGroup 就会留着。",
        Who.ADMIN,
    ),
    Reason.BACK_OFF: Text(
        "上一次尝试失败，下一次要等一会儿：10 秒起，逐次加倍，最多 6 分钟。",
        "请等待，并查看上一次尝试因何结束。",
        Who.OPERATOR,
    ),
    Reason.POD_FAILED: Text(
        "训练程序以错误退出，或其 Pod 超出了自身的限额。",
        "阅读失败记录中的最后几行日志并修正程序，或提高消息所指的限额；backoffLimit 允许重启。",
        Who.USER,
    ),
    Reason.POD_EVICTED: Text(
        "集群终止了 Pod：驱逐、抢占，或节点不接受它。这次重启不计入 backoffLimit。",
        "无需操作；若反复发生，请按实际用量申请内存和磁盘，或提高优先级。",
        Who.OPERATOR,
    ),
    Reason.POD_VANISHED: Text(
        "有人删除了一个 Pod。其他 Pod 只知道它原来的地址，所以全部 Pod 重新启动。",
        "无需操作；请不要删除运行中作业的 Pod。",
        Who.OPERATOR,
    ),
    Reason.ADDRESS_CHANGED: Text(
        "一个 Pod 的地址与其他 Pod 所知的不同。",
        "无需操作；全部 Pod 以新地址重新启动。",
        Who.OPERATOR,
    ),
    Reason.STALE_CONFIG_MAP: Text(
        "Pod 所在的节点给了它同名旧作业的 ConfigMap：旧作业的最后一个 Pod 清理完之前，"
        "kubelet 一直保留它。这次重启不计入 backoffLimit。",
        "无需操作；下一次尝试的 ConfigMap 有自己的名字。",
        Who.OPERATOR,
    ),
    Reason.NODE_LOST: Text(
        "Pod 所在的节点消失或没有响应。因此的重启不计入 backoffLimit。",
        "请管理员检查该节点；一直留在上面的 Pod 可以删除。",
        Who.ADMIN,
    ),
    Reason.TRAINER_ASKED_RESTART: Text(
        "训练程序以 101 或 102 退出：PaddlePaddle 的启动器以此请求重启。",
        "无需操作；这次重启不计入 backoffLimit。",
        Who.OPERATOR,
    ),
    Reason.FAILURE_POLICY_IGNORE: Text(
        "一个 Pod 失败，而按 podFailurePolicy 的规则，这次重启不计入 backoffLimit。",
        "无需操作；全部 Pod 重新启动。",
        Who.OPERATOR,
    ),
    Reason.ELASTIC_UNTRAINED: Text(
        "弹性启动器以 0 退出，却没有等到足够的同伴来训练。",
        "无需操作；若反复发生，请检查所有 worker 是否都分配到节点、etcd 是否可达。",
        Who.OPERATOR,
    ),
    Reason.RESTART_REQUESTED: Text(
        "用户请求了新的尝试（`kubectl pdj restart`）。", "等待新一次尝试的 Pod。", Who.NOBODY
    ),
    Reason.BACKOFF_LIMIT_EXCEEDED: Text(
        "作业失败：计数的重启次数超过了 backoffLimit。",
        "在 status.failures 中查看各次尝试的结束原因，修正程序后重新提交作业。",
        Who.USER,
    ),
    Reason.RESTART_LOOP: Text(
        "作业失败：连续重启了 100 次，从未运行满一分钟。",
        "在 status.failures 中查看各次尝试的结束原因，修正后重新提交作业。",
        Who.USER,
    ),
    Reason.POD_FAILURE_POLICY: Text(
        "作业失败：podFailurePolicy 的规则规定这种失败结束作业。",
        "修正程序或规则后重新提交作业。",
        Who.USER,
    ),
    Reason.DEADLINE_EXCEEDED: Text(
        "作业失败：已超过 activeDeadlineSeconds。",
        "给更多时间或更多 worker，然后重新提交作业。",
        Who.USER,
    ),
    Reason.STARTING_DEADLINE_EXCEEDED: Text(
        "作业失败：已超过 startingDeadlineSeconds，而 Pod 没有全部运行过。",
        "查看 Pod 在等什么，修正或给更多时间，然后重新提交作业。",
        Who.USER,
    ),
    Reason.IMAGE_ERROR: Text(
        "镜像无法拉取，或镜像名无效；若持续如此，作业会失败。",
        "修正镜像名或标签，或模板的 imagePullSecrets，然后重新提交作业。",
        Who.USER,
    ),
    Reason.CONFIG_ERROR: Text(
        "kubelet 无法启动某个容器，例如缺少 ConfigMap、Secret 或键；若持续如此，作业会失败。",
        "请看消息；创建缺少的对象，或修正模板。",
        Who.USER,
    ),
    Reason.INVALID_SPEC: Text(
        "spec 违反了 API server 无法检查的规则，作业失败；或 API server 判定作业的某个对象无效，"
        "若持续如此，作业会失败。",
        "修正信息中指出的字段（`kubectl pdj lint` 能找到大部分）后重新提交。",
        Who.USER,
    ),
    Reason.ENDPOINTS_TOO_LONG: Text(
        "作业失败：端点列表比一个环境变量所能容纳的更长。",
        "减少 Pod 数，或使用 intranet: PodIP，其端点较短。",
        Who.USER,
    ),
    Reason.OWNED_VARIABLE: Text(
        "模板设置了由 operator 自己设置的变量或字段；模板中的值被丢弃。",
        "从模板中去掉该变量或字段。",
        Who.USER,
    ),
    Reason.FORCE_DELETED: Text(
        "失联节点上的 Pod 已被直接删除，没有等待节点。",
        "作业无需操作；请管理员检查节点。",
        Who.ADMIN,
    ),
}
