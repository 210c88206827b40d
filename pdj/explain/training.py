"""The meaning of the reasons about a training that stalls or runs alone, in both languages."""

from api.constants import Reason
from pdj.explain.texts import Text, Texts, Who

ENGLISH: Texts = {
    Reason.TRAINED_ALONE: Text(
        "The launcher of worker 0 knew only one node: each worker has trained by itself, and "
        "perhaps overwritten the others' files.",
        "Start the launcher without its own --nnodes, --master and --ips, and see what "
        "`kubectl pdj lint` says.",
        Who.USER,
    ),
    Reason.NO_OUTPUT: Text(
        "Every pod runs, but the first worker has written nothing for as long as spec.stallPolicy "
        "says: the training hangs.",
        "Look at the worker that fell silent first (`kubectl pdj debug`, `kubectl pdj logs`), then "
        "begin a new attempt with `kubectl pdj restart`; stallPolicy.action Restart does so by "
        "itself. An intended pause can be announced (docs/progress.md).",
        Who.USER,
    ),
    Reason.NO_NEW_STEP: Text(
        "Every pod runs, but the log has no new step for as long as spec.stallPolicy says.",
        "See in the log what the program does instead, with `kubectl pdj logs`; if it hangs, begin "
        "a new attempt with `kubectl pdj restart`. An intended pause can be announced "
        "(docs/progress.md).",
        Who.USER,
    ),
    Reason.TRAINS_AGAIN: Text(
        "The training had stalled, and goes on again.",
        "Nothing; if it happens often, look at what it waited for: data, or a checkpoint.",
        Who.NOBODY,
    ),
    Reason.TRAINING_STALLED: Text(
        "The training had stalled for as long as spec.stallPolicy says, so its attempt was ended.",
        "Check the worker that fell silent first (see status.failures) and its node; if it is a "
        "different one each time, check the network between them (NCCL_DEBUG=INFO).",
        Who.USER,
    ),
    Reason.LOG_NOT_READ: Text(
        "The operator does not read the log of the first worker, so the status shows no progress, "
        "and no stall is noticed.",
        "Print shorter lines, or move large values of the template into a ConfigMap; if a right is "
        "missing, ask the administrator (docs/progress.md).",
        Who.USER,
    ),
}
CHINESE: Texts = {
    Reason.TRAINED_ALONE: Text(
        "worker 0 的 launcher 只知道一个节点：每个 worker 各自单独训练，还可能互相覆盖文件。",
        "启动 launcher 时不要自带 --nnodes、--master、--ips，并查看 `kubectl pdj lint` 的建议。",
        Who.USER,
    ),
    Reason.NO_OUTPUT: Text(
        "所有 Pod 都在运行，但第一个 worker 已有 spec.stallPolicy 规定的时间没有输出：训练卡住了。",
        "先查看最早停止输出的 worker（`kubectl pdj debug`、`kubectl pdj logs`），再用 "
        "`kubectl pdj restart` 开始新的一次尝试；stallPolicy.action 为 Restart 时会自动重启。"
        "有意的停顿可以事先声明（docs/progress.zh.md）。",
        Who.USER,
    ),
    Reason.NO_NEW_STEP: Text(
        "所有 Pod 都在运行，但日志中没有新的步数的时间已达 spec.stallPolicy 的上限。",
        "用 `kubectl pdj logs` 查看程序在做什么；若确已卡住，用 `kubectl pdj restart` 开始新的一次"
        "尝试。有意的停顿可以事先声明（docs/progress.zh.md）。",
        Who.USER,
    ),
    Reason.TRAINS_AGAIN: Text(
        "训练曾经停住，现已继续。",
        "无需操作；若经常发生，请查看它在等什么：数据，还是检查点。",
        Who.NOBODY,
    ),
    Reason.TRAINING_STALLED: Text(
        "训练停住的时间达到了 spec.stallPolicy 的上限，这次尝试因此结束。",
        "在 status.failures 中查看最早停止输出的 worker 及其节点；若每次都不同，请检查节点间的网络"
        "（NCCL_DEBUG=INFO）。",
        Who.USER,
    ),
    Reason.LOG_NOT_READ: Text(
        "operator 没有读取第一个 worker 的日志，所以 status 中没有进度，也发现不了卡住。",
        "输出更短的行，或把模板中很大的值移到 ConfigMap；缺少权限时请找管理员"
        "（docs/progress.zh.md）。",
        Who.USER,
    ),
}
