"""Ends of logs as PaddlePaddle 2.6.2 writes them, alone and under its launcher.

They were taken from pods of the local cluster; paths are shortened.
"""

SECRET = "hunter2"
ENVIRONMENT = {
    "PATH": "/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOSTNAME": "train-worker-0",
    "DB_PASSWORD": SECRET,
    "BANNER": "it's {braces}\nand lines",
    "KUBERNETES_SERVICE_HOST": "127.0.0.1",
    "PADDLE_TRAINERS": "127.237.1.28,127.237.1.30",
    "TRAINING_ROLE": "TRAINER",
    "PADDLE_DISTRI_BACKEND": "gloo",
    "PADDLE_LOG_DIR": "/log",
}
STAMP = "2026-11-23 08:14:15,698"
BEGIN = f"""\
LAUNCH INFO {STAMP} with_gloo: 1
LAUNCH INFO {STAMP} --------------------------------------------------
LAUNCH INFO {STAMP} Job: default, mode collective, replicas 1[1:1], elastic False
LAUNCH INFO {STAMP} Run Pod: gbkuxk, replicas 1, status ready
LAUNCH INFO {STAMP} Watching Pod: gbkuxk, replicas 1, status running
"""
DETAIL = f"LAUNCH INFO {STAMP} ------------------------- ERROR LOG DETAIL -----------------------\n"


def launched(log: str, code: int, order: str = "in turn", kept: int = 2048) -> str:
    """What a kubelet keeps of a launcher whose process has written this and ended with a code.

    Two pipes bring the launcher's lines and the process's: in turn, the launcher's last, or last
    the process's, which comes about where Python keeps stdout in a buffer.
    """
    failed = (
        f"LAUNCH INFO {STAMP} Pod failed\nLAUNCH ERROR {STAMP} Container failed !!!\n"
        f"Container rank 0 status failed cmd ['/opt/bin/python', '-u', 'train.py'] code {code} "
        f"log log/workerlog.0 \nenv {ENVIRONMENT}\n"
    )
    end = f"LAUNCH INFO {STAMP} Exit code {code}\n"
    text = {
        "in turn": BEGIN + log + failed + DETAIL + log + end,
        "launcher last": BEGIN + log + log + failed + DETAIL + end,
        "program last": BEGIN + failed + DETAIL + end + log + log,
    }[order]
    return text.encode()[-kept:].decode(errors="replace")


ORDERS = ("in turn", "launcher last", "program last")


def raised(
    error: str, frame: str = '  File "/work/train.py", line 3, in <module>\n    step()\n'
) -> str:
    return f"Traceback (most recent call last):\n{frame}{error}\n"


def detected(what: str, name: str) -> str:
    """What PaddlePaddle's signal handler writes."""
    rule, short = "-" * 38, "-" * 22
    return (
        f"\n\n{rule}\nC++ Traceback (most recent call last):\n{rule}\n"
        "No stack trace in paddle, may be caused by external reasons.\n\n"
        f"{short}\nError Message Summary:\n{short}\n"
        f"FatalError: `{what}` is detected by the operating system.\n"
        '  [TimeInfo: *** Aborted at 1795421845 (unix time) try "date -d @1795421845" if you are '
        "using GNU date ***]\n"
        f"  [SignalInfo: *** {name} (@0x0) received by PID 2 (TID 0x7f2b7def) from PID 0 ***]\n\n"
    )


PEER_LOST = (
    "I1123 08:18:58.374387    14 tcp_utils.cc:130] Successfully connected to 127.237.1.28:58033\n"
    + raised(
        "RuntimeError: [/paddle/third_party/gloo/gloo/transport/tcp/pair.cc:587] TIMEOUT "
        "self_rank = 0 pair_rank = 1 peer_str = [127.0.0.1]:58055"
    )
    + "I1123 08:19:00.666843    24 tcp_store.cc:289] receive shutdown event and so quit from "
    "MasterDaemon run loop\n"
)
