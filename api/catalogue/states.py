"""The meaning of every phase and condition, in English and Chinese, for the reference."""

from typing import Final

from api.catalogue.meaning import Words
from api.constants import Condition, Phase

# fmt: off
PHASES: Final[dict[str, Words]] = {
    Phase.PENDING:
        ("some pods do not exist yet, or have no node",
         "有 Pod 尚不存在，或还没有节点"),
    Phase.STARTING:
        ("every pod has a node, but not all of them run",
         "每个 Pod 都有节点，但没有全部运行"),
    Phase.RUNNING:
        ("every pod runs",
         "每个 Pod 都在运行"),
    Phase.RESTARTING:
        ("the last attempt's pods are terminating, or the next attempt waits for its "
         "back-off",
         "上一次尝试的 Pod 正在终止，或下一次尝试在等待退避"),
    Phase.SCALING:
        ("an elastic job runs while workers come or go",
         "弹性作业在运行，同时有 worker 加入或离开"),
    Phase.SUSPENDED:
        ("`spec.suspend` is true; the job has no pods",
         "`spec.suspend` 为 true；作业没有 Pod"),
    Phase.COMPLETING:
        ("some workers have succeeded, the others still run",
         "部分 worker 已成功，其余仍在运行"),
    Phase.COMPLETED:
        ("every worker has succeeded; final",
         "每个 worker 都已成功；不再改变"),
    Phase.FAILED:
        ("the job ended without succeeding; final",
         "作业结束但没有成功；不再改变"),
    Phase.TERMINATING:
        ("the job is being deleted",
         "作业正在被删除"),
}
CONDITIONS: Final[dict[str, Words]] = {
    Condition.PENDING:
        ("pods wait for something, the API server refuses to delete pods of an ended or "
         "suspended job, or a child of a deleted job stays",
         "Pod 在等待；或 API server 拒绝删除已结束或已挂起作业的 Pod；或已删除作业的子对象还留着"),
    Condition.PODS_SCHEDULED:
        ("every pod has a node",
         "每个 Pod 都有节点"),
    Condition.RUNNING:
        ("every pod runs, or has succeeded while others still run",
         "每个 Pod 都在运行，或已成功而其他仍在运行"),
    Condition.RESTARTING:
        ("an attempt has ended, and the pods of the next one do not exist yet",
         "一次尝试已结束，下一次的 Pod 尚不存在"),
    Condition.SUSPENDED:
        ("`spec.suspend` holds the job",
         "`spec.suspend` 使作业停住"),
    Condition.COMPLETED:
        ("the job has succeeded",
         "作业已成功"),
    Condition.FAILED:
        ("the job has failed",
         "作业已失败"),
    Condition.ADOPTED:
        ("paddle-operator 0.3 created the pods: [moving here](migration.md)",
         "Pod 由 paddle-operator 0.3 创建：[迁移](migration.zh.md)"),
    Condition.TRAINING_STALLED:
        ("a running job does not train: its log has shown nothing new for as long as "
         "`spec.stallPolicy` says (needs `--progress`)",
         "运行中的作业没有在训练：它的日志在 `spec.stallPolicy` 规定的时间内没有新内容"
         "（需要 `--progress`）"),
    Condition.LOSS_NOT_FINITE:
        ("the loss in the log is `nan` or `inf`, over three steps or more; it stays true "
         "when the job ends (needs `--progress`)",
         "日志中的 loss 是 `nan` 或 `inf`，已持续三步或更多；作业结束后仍为 true"
         "（需要 `--progress`）"),
    Condition.TRAINED_ALONE:
        ("in the latest attempt, the launcher of worker 0 knew of no other node, so each "
         "worker of a collective job trained alone; it becomes False when the next attempt "
         "runs",
         "在最近一次尝试中，worker 0 的启动器不知道其他节点，"
         "所以集合通信作业的每个 worker 各自单独训练；下一次尝试运行时变为 False"),
    Condition.FINISHED:
        ("the job has ended: its reason is Completed or Failed",
         "作业已结束：原因是 Completed 或 Failed"),
    Condition.RECONCILING:
        ("the job does not run yet and has not ended: kstatus's word for \"in progress\"",
         "作业尚未运行，也没有结束：kstatus 的“进行中”"),
    Condition.STALLED:
        ("the job has failed: kstatus's word for \"failed\"",
         "作业已失败：kstatus 的“失败”"),
}
