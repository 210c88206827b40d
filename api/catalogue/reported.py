"""The meaning of the reasons that are only reported: they neither hold up the job nor end anything.

They are part of the catalogue of `reasons`.
"""

from typing import Final

from api.catalogue.meaning import Meaning, Who
from api.constants import Reason

NOBODY, USER, ADMIN = Who.NOBODY, Who.USER, Who.ADMIN
# fmt: off
REPORTED: Final[dict[str, Meaning]] = {
    Reason.NO_OUTPUT: Meaning(USER, "TrainingStalled, Event",
        ("Every pod runs, but the first worker has written nothing for as long as "
         "spec.stallPolicy says: the training hangs.",
         "所有 Pod 都在运行，但第一个 worker 已有 spec.stallPolicy 规定的时间没有输出："
         "训练卡住了。"),
        ("Look at the worker that fell silent first (`kubectl pdj debug`, `kubectl pdj logs`), "
         "then begin a new attempt with `kubectl pdj restart`; stallPolicy.action Restart does "
         "so by itself. An intended pause can be announced (docs/progress.md).",
         "先查看最早停止输出的 worker（`kubectl pdj debug`、`kubectl pdj logs`），再用 `kubectl "
         "pdj restart` 开始新的一次尝试；stallPolicy.action 为 Restart 时会自动重启。有意的停顿"
         "可以事先声明（docs/progress.zh.md）。")),
    Reason.NO_NEW_STEP: Meaning(USER, "TrainingStalled, Event",
        ("Every pod runs, but the log has no new step for as long as spec.stallPolicy says.",
         "所有 Pod 都在运行，但日志中没有新的步数的时间已达 spec.stallPolicy 的上限。"),
        ("See in the log what the program does instead, with `kubectl pdj logs`; if it hangs, "
         "begin a new attempt with `kubectl pdj restart`. An intended pause can be announced "
         "(docs/progress.md).",
         "用 `kubectl pdj logs` 查看程序在做什么；若确已卡住，用 `kubectl pdj restart` 开始新的"
         "一次尝试。有意的停顿可以事先声明（docs/progress.zh.md）。")),
    Reason.TRAINS_AGAIN: Meaning(NOBODY, "TrainingStalled (false)",
        ("The training had stalled, and goes on again.", "训练曾经停住，现已继续。"),
        ("Nothing; if it happens often, look at what it waited for: data, or a checkpoint.",
         "无需操作；若经常发生，请查看它在等什么：数据，还是检查点。")),
    Reason.LOSS_FINITE: Meaning(NOBODY, "LossNotFinite (false)",
        ("The loss was nan or inf for some steps, and is a finite number again.",
         "loss 曾有几步是 nan 或 inf，现已恢复为有限数。"),
        ("Nothing; in mixed precision this is usual in the first steps.",
         "无需操作；混合精度训练的最初几步常会如此。")),
    Reason.LOG_NOT_READ: Meaning(USER, "Event",
        ("The operator does not read the log of the first worker, so the status shows no "
         "progress, and no stall is noticed.",
         "operator 没有读取第一个 worker 的日志，所以 status 中没有进度，也发现不了卡住。"),
        ("Print shorter lines, or move large values of the template into a ConfigMap; if a "
         "right is missing, ask the administrator (docs/progress.md).",
         "输出更短的行，或把模板中很大的值移到 ConfigMap；缺少权限时请找管理员（"
         "docs/progress.zh.md）。"),
        ("With `--progress`: the last line is longer than 64 KiB, the job is larger than 128 "
         "KiB, or the operator has no right to logs.",
         "使用 `--progress` 时：最后一行超过 64 KiB，作业超过 128 KiB，"
         "或 operator 无权读取日志。")),
    Reason.OWNED_VARIABLE: Meaning(USER, "Event",
        ("The template sets a variable or field that the operator sets; its value is dropped.",
         "模板设置了由 operator 自己设置的变量或字段；模板中的值被丢弃。"),
        ("Remove the variable or field from the template.", "从模板中去掉该变量或字段。")),
    Reason.TRAINED_ALONE: Meaning(USER, "TrainedAlone, Event",
        ("The launcher of worker 0 knew only one node: each worker has trained by itself, and "
         "perhaps overwritten the others' files.",
         "worker 0 的启动器只知道一个节点：每个 worker 各自单独训练，还可能互相覆盖文件。"),
        ("Start the launcher without its own --nnodes, --master and --ips, and see what "
         "`kubectl pdj lint` says.",
         "运行启动器时不要自带 --nnodes、--master、--ips，并查看 `kubectl pdj lint` 的建议。"),
        ("The termination message of worker 0 says so; or the pods' addresses are IPv6, which "
         "any launcher takes for one node's: this is told before programs start. `kubectl pdj` "
         "status, logs and explain see it in the log, too.",
         "worker 0 的终止信息说明了这一点；或者 Pod 的地址是 IPv6，任何启动器都会把它们当作"
         "同一个节点：这在程序启动前就会报告。`kubectl pdj` 的 status、logs 和 explain 也能从日"
         "志中看出。")),
    Reason.FORCE_DELETED: Meaning(ADMIN, "Event",
        ("Pods on lost nodes were deleted without waiting for their nodes.",
         "失联节点上的 Pod 已被直接删除，没有等待节点。"),
        ("The job needs nothing; have an administrator check the nodes.",
         "作业无需操作；请管理员检查节点。")),
}
