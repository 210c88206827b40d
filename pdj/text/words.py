"""The words around a finding and a progress, in both languages."""

from typing import Final

from api.catalogue.meaning import Words

LABELS: Final[dict[str, Words]] = {
    "state": ("State", "状态"),
    "since": (" (since {})", "（已持续 {}）"),
    "why": ("Why", "原因"),
    "next": ("Next", "下一步"),
    "who": ("Who", "由谁"),
    "said": ("The operator says", "operator 的信息"),
    "failures": ("Earlier attempts", "之前的尝试"),
    "events": ("Warnings", "警告"),
    "training": ("Training", "训练"),
    "lastLines": ("Its last lines", "最后几行"),
    "history": ("Before this", "此前经过"),
    "nodes": ("Nodes", "节点"),
    "quota": ("Quota", "配额"),
    "group": ("PodGroup", "PodGroup"),
    "queue": ("Queue", "队列"),
    "etcd": ("etcd", "etcd"),
    "peers": ("The last lines of the other pods", "其他 Pod 的最后几行"),
    "colon": (": ", "："),
}
PROGRESS: Final[dict[str, Words]] = {
    "problem": ("progress unknown: {}", "进度未知：{}"),
    "empty": ("no output yet", "还没有输出"),
    "none": ("no step in the last lines", "最后几行中没有步数"),
    "epoch": ("epoch {}", "epoch {}"),
    "step": ("step {}", "第 {} 步"),
    "notFinite": ("not finite since step {}", "自第 {} 步起不是有限数"),
    "rate": ("{} samples/s", "{} 样本/秒"),
    "end": ("done in {}", "预计还需 {}"),
    "checkpoint": ("checkpoint {}", "检查点 {}"),
    "ago": (" ({} ago)", "（{} 前）"),
    "same": ("this step for {}", "停在此步已 {}"),
    "quiet": ("a pause until {} was announced", "已声明停顿到 {}"),
    "output": ("last output {} ago", "最后输出于 {} 前"),
    "last": ("last output {}", "最后输出于 {}"),
    "ahead": (
        "last output {} in the future: the node's clock is ahead",
        "最后输出的时间比现在晚 {}：节点的时钟快了",
    ),
    "forming": (
        "the launchers form their group again and again, and nothing is trained",
        "启动器一再重新组队，没有新的一步",
    ),
    "first": (
        "{} fell silent first, at {}; the others wrote until {}",
        "{} 最先停止输出（{}），其他 worker 输出到 {}",
    ),
}
COMPARE: Final[dict[str, Words]] = {
    "state": ("state", "状态"),
    "reason": ("reason", "原因"),
    "time": ("time", "用时"),
    "step": ("step", "步数"),
    "curve": ("curve", "曲线"),
    "lossAt": ("loss, step {}", "loss，第 {} 步"),
    "lossAfter": ("loss, after {}", "loss，{} 后"),
    "more": ("{} more fields differ", "另有 {} 个字段不同"),
}
