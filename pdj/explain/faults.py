"""The meaning of each kind of fault (`reconcile.words.fault.Fault`), in both languages."""

from pdj.explain.texts import Text, Who

ENGLISH = {
    "hardware": Text(
        "A device or its memory is at fault on the node that the record names.",
        "Have the node checked; the next attempt prefers other nodes (status.avoidNodes).",
        Who.ADMIN,
    ),
    "device memory": Text(
        "The memory of an accelerator is full.",
        "Make batches smaller, or use recomputation, sharding or more workers; check that nothing "
        "else uses the device.",
        Who.USER,
    ),
    "network": Text(
        "The network between the accelerators failed, or is not set up.",
        "Run once with NCCL_DEBUG=INFO; check NCCL_SOCKET_IFNAME and NCCL_IB_HCA, and the network "
        "of the nodes that the records name.",
        Who.USER,
    ),
    "peer": Text(
        "A worker did not join a collective operation in time: it is slower, has ended, or skips "
        "the operation. The worker named here is the one that waited.",
        "Compare the last lines of the workers: all of them have to call the same collective "
        "operations (all_reduce, barrier) in the same order, whatever their rank and data.",
        Who.USER,
    ),
    "numbers": Text(
        "The loss or a parameter is NaN, infinite, or otherwise wrong.",
        "Resume from an earlier checkpoint, with a lower learning rate or without the data that "
        "caused it.",
        Who.USER,
    ),
    "checkpoint": Text(
        "A checkpoint could not be written or read.",
        "Check the volume's free space and permissions; resume from the last complete checkpoint.",
        Who.USER,
    ),
    "device": Text(
        "A call to an accelerator or its library failed.",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to see which call fails; if it fails on only one "
        "node, have that node checked.",
        Who.USER,
    ),
}
CHINESE = {
    "hardware": Text(
        "记录所指节点上的加速卡或其显存有故障。",
        "请管理员检查该节点；下一次尝试会优先选择其他节点（status.avoidNodes）。",
        Who.ADMIN,
    ),
    "device memory": Text(
        "加速卡的显存已满。",
        "减小 batch，或使用重计算、sharding、更多 worker；并确认没有其他程序占用该卡。",
        Who.USER,
    ),
    "network": Text(
        "加速卡之间的网络出错，或没有配置好。",
        "用 NCCL_DEBUG=INFO 运行一次；检查 NCCL_SOCKET_IFNAME、NCCL_IB_HCA 及记录所指节点的网络。",
        Who.USER,
    ),
    "peer": Text(
        "某个 worker 没有按时参加集合通信：它较慢、已结束，或跳过了该操作。"
        "被指出的 worker 是等待的一方。",
        "比较各 worker 的最后几行日志：无论 rank 和数据如何，所有 worker 都必须以相同顺序调用相同的"
        "集合通信操作（all_reduce、barrier）。",
        Who.USER,
    ),
    "numbers": Text(
        "loss 或参数为 NaN、无穷，或不符合预期。",
        "从此前的 checkpoint 恢复，降低学习率或跳过有问题的数据。",
        Who.USER,
    ),
    "checkpoint": Text(
        "无法写入或读取 checkpoint。",
        "检查卷的空间与权限，从最后一个完整的 checkpoint 恢复。",
        Who.USER,
    ),
    "device": Text(
        "对加速卡或其库的调用失败。",
        "用 CUDA_LAUNCH_BLOCKING=1 运行一次以找出是哪个调用；若只在一个节点上失败，"
        "请管理员检查该节点。",
        Who.USER,
    ),
}
