"""What a finding means beyond its reason: the causes that records, logs and other objects show."""

from typing import Final

from api.catalogue.meaning import Meaning, Who

# fmt: off
UNKNOWN: Final = Meaning(Who.USER, "",
    ("This tool does not know the reason: the operator is newer.",
     "本工具不认识该原因：operator 的版本比本工具新。"),
    ("Update kubectl-pdj, and read the operator's message.",
     "请升级 kubectl-pdj，并阅读 operator 给出的信息。"))
NOT_SEEN: Final = Meaning(Who.ADMIN, "",
    ("No operator has handled the job yet.", "还没有 operator 处理过该作业。"),
    ("If that lasts for a minute, check that the operator runs and watches this namespace "
     "(kubectl get pods -A -l app.kubernetes.io/name=paddlejob-operator).",
     "若持续一分钟以上：请检查 operator 是否在运行、是否监视此命名空间 (kubectl get pods -A -l "
     "app.kubernetes.io/name=paddlejob-operator)。"))
NOT_OURS: Final = Meaning(Who.USER, "",
    ("spec.managedBy leaves the job to another controller.",
     "spec.managedBy 把作业交给了另一个控制器。"),
    ("Look at that controller, or create the job again without managedBy.",
     "请查看该控制器，或去掉 managedBy 后重新创建作业。"))
OUT_OF_MEMORY: Final = Meaning(Who.USER, "",
    ("A trainer ran out of memory: its container exceeded its memory limit.",
     "训练程序内存不足：容器超出了内存上限。"),
    ("Raise resources.limits.memory of the container, or let the program use less (smaller "
     "batches, fewer processes that read data); submit the job again if it has ended.",
     "调高容器的 resources.limits.memory，或让程序少用内存（减小 batch、减少数据读取进程）；作业"
     "若已结束，请重新提交。"))
OVER_LIMIT: Final = Meaning(Who.USER, "",
    ("A pod has exceeded a limit of its own.", "一个 Pod 超出了自身的限额。"),
    ("Raise the limit that the message names, or let the program use less; backoffLimit allows "
     "restarts.",
     "提高信息所指的限额，或让程序少用一些；设置 backoffLimit 后会自动重启。"))
KILLED: Final = Meaning(Who.USER, "",
    ("A trainer, or one of its processes, was killed by SIGKILL, most often because memory ran "
     "out.",
     "训练程序或它的某个进程被 SIGKILL 杀死，多半是内存不足。"),
    ("Ask for more memory (resources.requests and limits), or let the program use less; if "
     "memory is not the cause, read what the logs of the node and of the program say about that "
     "time.",
     "申请更多内存（resources.requests 和 limits），或让程序少用内存；若与内存无关，请查看当时节"
     "点和程序的日志。"))
SHARED_MEMORY_FULL: Final = Meaning(Who.USER, "",
    ("A trainer, or a process that reads data for it, met a bus error: /dev/shm is full. A "
     "container has 64 MB of it unless a volume is mounted there.",
     "训练程序或它的数据读取进程遇到总线错误（bus error）：/dev/shm 已满。不挂载卷时容器只有 64 "
     "MB。"),
    ("Mount an emptyDir with medium: Memory at /dev/shm in the pod template, and count its size "
     "in the memory limit; or read data with num_workers=0.",
     "在 Pod 模板中把 medium: Memory 的 emptyDir 挂载到 /dev/shm，并把它的大小计入内存上限；或以"
     " num_workers=0 读取数据。"))
DISK_FULL: Final = Meaning(Who.USER, "",
    ("A file system is full: the last lines name the file that could not be written.",
     "某个文件系统已满：最后几行指出了无法写入的文件。"),
    ("Enlarge or clear the volume that has the file; for a file in the container itself or in "
     "an emptyDir, raise resources.limits.ephemeral-storage or sizeLimit; for /dev/shm, mount "
     "an emptyDir with medium: Memory.",
     "请扩大或清理该文件所在的卷；若在容器内部或 emptyDir 中，请调高"
     " resources.limits.ephemeral-storage 或 sizeLimit；若是 /dev/shm，请挂载 medium: Memory 的"
     " emptyDir。"))
NO_MODULE: Final = Meaning(Who.USER, "",
    ("The program imports a module that its image does not have.", "程序导入了镜像中没有的模块。"),
    ("Add the package to the image, or to the file of --requirements if the code is sent by "
     "--code; for a module of your own, set workingDir or PYTHONPATH to its folder.",
     "请把这个包加入镜像；若代码由 --code 发送，请写入 --requirements 的文件；若是自己的模块，请"
     "把 workingDir 或 PYTHONPATH 设为其目录。"))
NOT_SET_UP: Final = Meaning(Who.USER, "",
    ("A node cannot set a pod up: the warnings below say why.",
     "节点无法准备好某个 Pod：原因见下面的警告。"),
    ("Correct or create the volume, device or object that the warnings name; the node tries "
     "again.",
     "修正或创建警告里指出的卷、设备或对象；节点会自动重试。"))
SILENT: Final = Meaning(Who.USER, "",
    ("Every pod runs, but the first worker has written nothing for a while: the training may "
     "hang.",
     "所有 Pod 都在运行，但第一个 worker 已有一段时间没有输出：训练可能卡住了。"),
    ("Look at the last line of each worker with `kubectl pdj logs JOB --tail 1 --timestamps`: "
     "the worker with the oldest line stopped first. If the training hangs, begin a new attempt "
     "with `kubectl pdj restart JOB`. An intended pause can be announced (docs/progress.md).",
     "用 `kubectl pdj logs JOB --tail 1 --timestamps` 查看各 worker 的最后一行：时间最早的那个"
     " worker 最先停止。若训练确已卡住，用 `kubectl pdj restart JOB` 开始新的一次尝试。有意的停"
     "顿可以事先声明（docs/progress.zh.md）。"))
FORMING: Final = Meaning(Who.USER, "",
    ("Every pod runs, but the launchers form their group again and again, and nothing is "
     "trained.",
     "所有 Pod 都在运行，但启动器一再重新组队，没有新的一步。"),
    ("Find in the log (`kubectl pdj logs`) why the group ends each time: a program fails, or "
     "the others cannot reach a worker. Then begin a new attempt with `kubectl pdj restart`.",
     "用 `kubectl pdj logs` 查看每次为何散开：程序出错，还是连不上某个 worker；再用 `kubectl "
     "pdj restart` 开始新的一次尝试。"))
NO_ETCD: Final = Meaning(Who.USER, "",
    ("The launchers of an elastic job meet in etcd, and there is no etcd where they look for it.",
     "弹性作业的启动器在 etcd 中会合，而它们所用的 etcd 不存在。"),
    ("Create it with the command below; the next attempt finds it. If the job has ended, submit "
     "it again.",
     "请用下面的命令创建它，下一次尝试就能找到；如果作业已结束，请重新提交。"))
FAULTS: Final[dict[str, Meaning]] = {
    "hardware": Meaning(Who.ADMIN, "",
        ("A device or its memory is at fault on the node that the record names.",
         "记录所指节点上的加速卡或其显存有故障。"),
        ("Have the node checked; the next attempt prefers other nodes (status.avoidNodes).",
         "请管理员检查该节点；下一次尝试会优先选择其他节点（status.avoidNodes）。")),
    "device memory": Meaning(Who.USER, "",
        ("The memory of an accelerator is full.", "加速卡的显存已满。"),
        ("Make batches smaller, or use recomputation, sharding or more workers; check that "
         "nothing else uses the device.",
         "减小 batch，或使用重计算、sharding、更多 worker；并确认没有其他程序占用该卡。")),
    "network": Meaning(Who.USER, "",
        ("The network between the accelerators failed, or is not set up.",
         "加速卡之间的网络出错，或没有配置好。"),
        ("Run once with NCCL_DEBUG=INFO; check NCCL_SOCKET_IFNAME and NCCL_IB_HCA, and the "
         "network of the nodes that the records name.",
         "用 NCCL_DEBUG=INFO 运行一次；检查 NCCL_SOCKET_IFNAME、NCCL_IB_HCA 及记录所指节点的"
         "网络。")),
    "peer": Meaning(Who.USER, "",
        ("A worker did not join a collective operation in time: it is slower, has ended, or "
         "skips the operation. The worker named here is the one that waited.",
         "某个 worker 没有按时参加集合通信：它较慢、已结束，或跳过了该操作。被指出的 worker 是等"
         "待的一方。"),
        ("Compare the last lines of the workers: all of them have to call the same collective "
         "operations (all_reduce, barrier) in the same order, whatever their rank and data.",
         "比较各 worker 的最后几行日志：无论 rank 和数据如何，所有 worker 都必须以相同顺序调用相"
         "同的集合通信操作（all_reduce、barrier）。")),
    "numbers": Meaning(Who.USER, "",
        ("The loss or a parameter is NaN, infinite, or otherwise wrong.",
         "loss 或参数为 NaN、无穷，或不符合预期。"),
        ("Resume from an earlier checkpoint, with a lower learning rate or without the data "
         "that caused it.",
         "从此前的 checkpoint 恢复，降低学习率或跳过有问题的数据。")),
    "checkpoint": Meaning(Who.USER, "",
        ("A checkpoint could not be written or read.", "无法写入或读取 checkpoint。"),
        ("Check the volume's free space and permissions; resume from the last complete "
         "checkpoint.",
         "检查卷的空间与权限，从最后一个完整的 checkpoint 恢复。")),
    "device": Meaning(Who.USER, "",
        ("A call to an accelerator or its library failed.", "对加速卡或其库的调用失败。"),
        ("Run once with CUDA_LAUNCH_BLOCKING=1 to see which call fails; if it fails on only one "
         "node, have that node checked.",
         "用 CUDA_LAUNCH_BLOCKING=1 运行一次以找出是哪个调用；若只在一个节点上失败，请管理员检查"
         "该节点。")),
}
