"""Which line of a failed program's log says why, also among the launcher's."""

import re

import pytest

from reconcile.words.cause import NOTHING_KEPT, read_message
from reconcile.words.fault import Fault, fault_of
from tests.memory.logs import (
    DETAIL,
    ENVIRONMENT,
    ORDERS,
    PEER_LOST,
    SECRET,
    STAMP,
    detected,
    launched,
    raised,
)

"""Many times what it takes; an expression that looks again and again takes more."""
BAD_BATCH = "ValueError: bad batch 17"
DIM = "Input(Y) has error dim. Y'dims[0] must be equal to 3, but received Y'dims[0] is 2."
HINT = "  [Hint: Expected K == 3.] (at /paddle/paddle/phi/kernels/impl/matmul_kernel_impl.h:329)\n"
RULE = "-" * 38
NATIVE = (
    f"\n{RULE}\nC++ Traceback (most recent call last):\n{RULE}\n"
    "0   paddle::pybind::eager_api_matmul(_object*, _object*, _object*)\n"
    "1   phi::enforce::GetCurrentTraceBackString[abi:cxx11](bool)\n\n"
    "----------------------\nError Message Summary:\n----------------------\n"
    f"InvalidArgumentError: {DIM}\n{HINT}"
)
NO_MEMORY = "ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 2GB memory."
SYNTAX = '  File "/work/train.py", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'
LIBRARY = "libnccl.so.2: cannot open shared object file: No such file or directory"
LAUNCHER_FRAME = (
    '  File "<frozen runpy>", line 198, in _run_module_as_main\n'
    '  File "/opt/site-packages/paddle/distributed/launch/job/container.py", line 138, in start\n'
    "    self._proc.start()\n"
    '  File "/usr/lib/python3.11/subprocess.py", line 1950, in _execute_child\n'
    "    raise child_exception_type(errno_num, err_msg, err_filename)\n"
)
MASTER_FRAME = (
    '  File "/opt/site-packages/paddle/distributed/launch/controllers/master.py", line 194, in f\n'
    "    import etcd3\n"
)
TORCHRUN_FRAME = (
    '  File "/opt/site-packages/torch/distributed/launcher/api.py", line 264, in launch_agent\n'
    "    raise ChildFailedError(\n"
)
CHILD_FAILED = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
OF_TORCHRUN = (
    "E0913 11:00:00.100000 1 torch/api.py:833] failed (exitcode: 1) local_rank: 0 of binary: t\n"
    + raised(f"{CHILD_FAILED} \n{'=' * 60}\ntrain.py FAILED\n{'-' * 60}", TORCHRUN_FRAME)
    + "Root Cause (first observed failure):\n[0]:\n  exitcode  : 1 (pid: 17)\n"
)
NO_DESCRIPTORS = (
    "TypeError: Descriptors cannot be created directly.\n"
    "If this call came from a _pb2.py file, your generated code is out of date.\n"
    "If you cannot immediately regenerate your protos, some other possible workarounds are:\n"
    " 1. Downgrade the protobuf package to 3.20.x or lower.\n"
)
RPC_FAILED = (
    "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:\n"
    "\tstatus = StatusCode.UNAVAILABLE\n"
    '\tdetails = "failed to connect to all addresses"\n>\n'
)
NO_ETCD = "etcd3.exceptions.ConnectionFailedError: etcd connection failed"
BAD_KEY = "KeyError: '17.jpg'"
QUEUE_KILLED = (
    "SystemError: (Fatal) Blocking queue is killed because the data reader raises an exception.\n"
    "  [Hint: Expected killed_ != true.] (at /paddle/blocking_queue.h:166)"
)
READER_KILLED = (
    f"[{STAMP}] [ WARNING] dataloader_iter.py:707 - DataLoader 1 workers exit unexpectedly, pids: 7"
)
BUS_ERROR = "ERROR: Unexpected BUS error encountered in DataLoader worker."
IN_A_WORKER = "DataLoader worker(0) caught KeyError with message:\n"
WORKER_FRAMES = '  File "/opt/paddle/io/dataloader/worker.py", line 372, in _worker_loop\n' * 8
SAID = {
    "missing-module": (raised("ModuleNotFoundError: No module named 'einops'"), None),
    "exception": (f"epoch 1\n{raised(BAD_BATCH)}", BAD_BATCH),
    "without-message": (raised("KeyboardInterrupt"), None),
    "assertion-without-message": (
        "    step()\n"
        + raised("AssertionError", '  File "/t.py", line 1, in f\n    assert n == 3\n    ^^^^^^\n'),
        "AssertionError: assert n == 3",
    ),
    "assertion-without-source": (raised("AssertionError", '  File "<stdin>", line 1\n'), None),
    "own-class": (raised("trainer.errors.Diverged"), None),
    "nested-class": (raised("__main__.main.<locals>.Bad: no"), None),
    "no-space": (raised("OSError: [Errno 28] No space left on device"), None),
    "nan": (
        "[PRECISION] [ERROR] in [device=cpu, op=log], num_nan=1\n"
        + raised("RuntimeError: (PreconditionNotMet) There are NAN or INF (num_nan=1)."),
        None,
    ),
    "told-by-exit": ("epoch 3: loss nan\nloss is NaN, giving up\n", "loss is NaN, giving up"),
    "shape": (raised(f"ValueError: (InvalidArgument) {DIM}\n{HINT}"), None),
    "with-native-stack": (raised("ValueError: \n" + NATIVE), f"InvalidArgumentError: {DIM}"),
    "out-of-gpu-memory": (
        raised("SystemError: \n" + NATIVE.replace(f"InvalidArgumentError: {DIM}", NO_MEMORY)),
        "ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 2GB memory.",
    ),
    "message-below-its-kind": (
        raised("MemoryError: (ResourceExhausted)\n\nOut of memory error on GPU 0."),
        "MemoryError: (ResourceExhausted) Out of memory error on GPU 0.",
    ),
    "reader-thread": (
        f"Exception in thread Thread-1 (_thread_loop):\n{raised(BAD_BATCH)}" + raised(QUEUE_KILLED),
        BAD_BATCH,
    ),
    "reader-crashed": (f"{BUS_ERROR}\n{READER_KILLED}\n{raised(QUEUE_KILLED)}", BUS_ERROR),
    "reader-killed": (f"batch\n{READER_KILLED}\n{raised(QUEUE_KILLED)}", READER_KILLED),
    "static-graph": (
        raised(
            'ValueError: In transformed code:\n\n    File "/work/train.py", line 9, in forward\n'
            "            y = self.l(x)\n            ~~~~~~~~~~~~~ <--- HERE\n\n"
            f"    InvalidArgumentError: {DIM}\n  {HINT}      [operator < matmul_v2 > error]"
        ),
        f"InvalidArgumentError: {DIM}",
    ),
    "static-graph-cut": (
        '    File "/work/train.py", line 9, in forward\n            y = self.l(x)\n\n'
        f"    InvalidArgumentError: {DIM}\n  {HINT}      [operator < matmul_v2 > error]\n",
        f"InvalidArgumentError: {DIM}",
    ),
    "group": (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "/work/train.py", line 1, in <module>\n  | ExceptionGroup: two (1)\n'
        "  +-+---------------- 1 ----------------\n    | ValueError: bad batch 17\n",
        BAD_BATCH,
    ),
    "assertion-in-c": (
        "train: x.c:3: main: Assertion `n > 0' failed.\n"
        "run.sh: line 1:     7 Aborted                 (core dumped) ./train\n",
        "train: x.c:3: main: Assertion `n > 0' failed.",
    ),
    "obituary-alone": ("epoch 1\nBus error (core dumped)\n", "Bus error (core dumped)"),
    "chinese": ("第 1 轮\n错误:没有数据\n结束\n", "错误:没有数据"),
    "chinese-shell": (
        "run.sh:行2: pythonn: 未找到命令\n+ exit 127\n",
        "run.sh:行2: pythonn: 未找到命令",
    ),
    "chinese-memory": ("显存不足,退出\n清理临时文件\n", "显存不足,退出"),
    "key-in-a-worker": (
        raised(f"KeyError: {IN_A_WORKER + raised(BAD_KEY, WORKER_FRAMES)!r}"),
        BAD_KEY,
    ),
    "argparse": (
        "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --lrr 1\n",
        "train.py: error: unrecognized arguments: --lrr 1",
    ),
    "syntax": (SYNTAX, "SyntaxError: invalid syntax"),
    "chained": (
        raised("KeyError: 'lr'")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + raised("RuntimeError: bad config"),
        "RuntimeError: bad config",
    ),
    "noise-at-exit": (
        f"{raised(BAD_BATCH)}Exception ignored in: <function D.__del__ at 0x7f9fd03887c0>\n"
        + raised("KeyError: 'late'"),
        BAD_BATCH,
    ),
    "noise-after-a-complaint": (
        "cannot read /data\nException ignored in: <function D.__del__ at 0x7f9fd03887c0>\n"
        + raised("KeyError: 'late'"),
        "cannot read /data",
    ),
    "level-of-the-log": ("CRITICAL:root:no data\nINFO:root:bye\n", "CRITICAL:root:no data"),
    "heap": (
        "double free or corruption (!prev)\nAborted (core dumped)\n",
        "double free or corruption (!prev)",
    ),
    "abort-at-exit": (
        f"{raised(BAD_BATCH)}terminate called after throwing an instance of 'gloo::IoException'\n"
        "  what():  [/gloo/transport/tcp/pair.cc:568] Connection closed by peer [10.0.1.2]:4312\n"
        + detected("Process abort signal", "SIGABRT"),
        BAD_BATCH,
    ),
    "words-after-it": (f"{raised(BAD_BATCH)}ERROR: job failed\nbye\n", BAD_BATCH),
    "wrapper": (
        raised(BAD_BATCH)
        + raised(
            "subprocess.CalledProcessError: Command '['python', 'x.py']' returned non-zero exit "
            "status 1."
        ),
        BAD_BATCH,
    ),
    "message-below": (raised("RuntimeError:\nno GPU is free"), "RuntimeError: no GPU is free"),
    "std-exception": (
        "terminate called after throwing an instance of 'std::length_error'\n"
        "  what():  vector::reserve\n",
        "std::length_error: vector::reserve",
    ),
    "fatal-log": (
        "F1123 08:18:16.569550     2 tcp_store.cc:402] _timeout:3 elapsed:4\n"
        "*** Check failure stack trace: ***\n    @  0x7fc65c58f15d  google::LogMessage::Fail()\n",
        "F1123 08:18:16.569550     2 tcp_store.cc:402] _timeout:3 elapsed:4",
    ),
    "segmentation": (
        "epoch 1\n" + detected("Segmentation fault", "SIGSEGV") + "Segmentation fault\n",
        "FatalError: `Segmentation fault` is detected by the operating system.",
    ),
    "missing-library": (f"./tool: error while loading shared libraries: {LIBRARY}\n", None),
    "not-found": ("epoch 1\nsh: 1: pythonn: not found\n", "sh: 1: pythonn: not found"),
    "not-permitted": ("sh: 1: ./tool: Permission denied\n", None),
    "no-script": ("python: can't open file '/t.py': [Errno 2] No such file or directory\n", None),
    "script-of-the-launcher": (
        raised("FileNotFoundError: [Errno 2] No such file or directory: './t'", LAUNCHER_FRAME),
        "FileNotFoundError: [Errno 2] No such file or directory: './t'",
    ),
    "launcher-and-protobuf": (
        raised(NO_DESCRIPTORS, MASTER_FRAME),
        "TypeError: Descriptors cannot be created directly.",
    ),
    "launcher-without-etcd": (
        raised(RPC_FAILED, '  File "/opt/etcd3/client.py", line 47, in handler\n    return f()\n')
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + raised(NO_ETCD, MASTER_FRAME),
        NO_ETCD,
    ),
    "launcher-after-a-program": (raised(BAD_BATCH) + raised(NO_ETCD, MASTER_FRAME), BAD_BATCH),
    "torchrun-after-a-program": (raised(BAD_BATCH) + OF_TORCHRUN, BAD_BATCH),
    "torchrun-alone": (OF_TORCHRUN, f"{CHILD_FAILED} train.py FAILED"),
    "harmless-words": (
        "cannot read part-7\nUserWarning: invalid value\nINFO failed over\nI1123 08:18 x] error\n"
        "epoch 2, error 0.02\nepoch 2 done, 0 errors\n",
        "cannot read part-7",
    ),
    "no-word-of-error": ("epoch 1\ngiving up\n", "giving up"),
}


def cause_in(log: str, cause: str | None) -> str:
    """The line expected: the last one of a traceback where none is named."""
    return cause or next(
        line for line in reversed(log.splitlines()) if line and not line.startswith(" ")
    )


@pytest.mark.parametrize("order", ["alone", *ORDERS])
@pytest.mark.parametrize("name", SAID)
def test_line_that_says_why_is_found(name, order):
    """Alone, and among the launcher's."""
    log, cause = SAID[name]
    message = log if order == "alone" else launched(log, 1, order)
    assert read_message(message).cause == cause_in(log, cause)


OF_NCCL = "DistBackendError: NCCL error in: a.cpp:9, unhandled {} error, NCCL version 2.20.5"
NO_ROOM = "Error while creating shared memory segment /dev/shm/nccl-dWuf7h (size 9637888)"


@pytest.mark.parametrize(
    ("last", "is_consequence", "fault"),
    [
        (NO_ROOM, False, None),
        ("Cuda failure 2 'out of memory'", False, Fault.DEVICE_MEMORY),
        ("socketProgress: Connection closed by remote peer 10.0.0.4<1>", True, Fault.NETWORK),
    ],
)
def test_what_nccl_says_last_is_part_of_the_cause(last, is_consequence, fault):
    error = OF_NCCL.format("cuda" if "Cuda" in last else "system")
    log = raised(f"{error}\nncclError: a call has failed.\nLast error:\n{last}")
    words = read_message(log)
    assert words.cause == f"{error}: {last}"
    assert words.is_consequence == is_consequence
    assert fault_of(words.cause) is fault


@pytest.mark.parametrize("after", ["", raised(BAD_BATCH), "E1123 08:19 api.py:869] failed\n"])
def test_nccl_may_have_said_nothing(after):
    error = OF_NCCL.format("system")
    words = read_message(raised(f"{error}\nncclError: failed.\nLast error:\n") + after)
    assert words.cause == (BAD_BATCH if BAD_BATCH in after else error)


def test_launcher_may_go_on_in_the_programs_line():
    assert read_message(launched("no data", 1, "launcher last")).lines[-1].endswith("no data")


@pytest.mark.parametrize("order", ORDERS)
def test_log_that_the_launcher_repeats_is_kept_once_and_without_its_lines(order):
    log = "epoch 1\n" + raised(BAD_BATCH)
    lines = read_message(launched(log, 1, order, kept=10_000)).lines
    assert list(lines) == log.splitlines()


PREFIXES = {
    "rank": ("[rank0]: ", "[rank13]: "),
    "process": ("(Worker pid=7, ip=10.0.0.3) ", "(Worker pid=8, ip=10.0.0.4) "),
    "stream": ("[1,1]<stderr>:", "[1,0]<stderr>:"),
    "time": ("2026-11-23T08:14:15Z ", "2026-11-23T08:14:16Z "),
}
OF_A_LAUNCHER = raised("launcher.errors.ChildFailedError: train.py FAILED")


@pytest.mark.parametrize("name", PREFIXES)
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("after", ["", OF_A_LAUNCHER, "noticed that a process failed\n"])
def test_an_exception_is_found_among_lines_that_all_begin_with_a_prefix(name, is_cut, after):
    first, second = PREFIXES[name]
    lines = ["step 3", *raised(BAD_BATCH).splitlines()[is_cut:], ""]
    log = "".join(f"{first}{line}\n" for line in lines)
    log += "".join(f"{second}{line}\n" for line in raised(BAD_KEY).splitlines()) + after
    assert read_message(log).cause == BAD_KEY
    assert read_message(log.partition(second)[0] + after).cause == BAD_BATCH


def test_a_prefix_of_one_line_hides_no_exception():
    log = f'warning:  File "/work/a.py", line 3, in f\n{raised(BAD_BATCH)}'
    assert read_message(log).cause == BAD_BATCH


@pytest.mark.parametrize("level", ["WARNING", "INFO"])
def test_an_exception_that_the_program_logged_and_survived_is_not_its_end(level):
    logged = "".join(f"08:14:15 {level} {line}\n" for line in raised(BAD_BATCH).splitlines())
    assert read_message(f"{logged}step 4\n{raised(BAD_KEY)}").cause == BAD_KEY


FORMATS = (
    r"[\2] [    \1] controller.py:109 - \3",
    r"\1 \2 controller.py:109] \3",
    r"\1:LAUNCH:\3",
)
"""How libraries write what reaches Python's root logger."""


@pytest.mark.parametrize("log", ["epoch 1\nno data, giving up\n", raised(BAD_BATCH)])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("order", ORDERS)
def test_what_another_logger_repeats_of_the_launcher_is_the_launchers(order, form, log):
    written = launched(log, 1, order, kept=10_000)
    message = re.sub(r"LAUNCH (\w+) ([-\d]+ [\d:,]+) +(.*)\n", rf"\g<0>{form}\n", written)
    words = read_message(message)
    assert (list(words.lines), words.cause) == (log.splitlines(), log.splitlines()[-1])


@pytest.mark.parametrize("order", ORDERS)
def test_an_exception_is_the_programs_also_if_it_ends_as_a_line_of_the_launcher(order):
    error = "RuntimeError: Pod failed"
    assert read_message(launched(raised(error), 1, order)).cause == error


@pytest.mark.parametrize("left", [1, 12, 40])
@pytest.mark.parametrize("state", ["running", "failed"])
def test_the_end_of_the_launchers_line_before_a_cut_log_is_not_the_programs(state, left):
    log = raised(BAD_BATCH) + "x" * 2000
    watching = f"LAUNCH INFO {STAMP} Watching Pod: gbkuxk, replicas 1, status {state}"
    message = f"{watching[-left:]}\n{log}\nLAUNCH INFO {STAMP} Pod failed\n"
    assert read_message(message).lines[0] == log.splitlines()[0]


def test_interpreter_is_told_without_its_folder():
    missing = "python3.11: can't open file '/workspace/trian.py': [Errno 2] No such file"
    assert read_message(f"/opt/environments/of/this/image/bin/{missing}\n").cause == missing


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_of_the_environment_is_kept_wherever_the_log_is_cut(order):
    whole = launched(raised(BAD_BATCH), 1, order, kept=10_000)
    names = [f"'{name}'" for name in ENVIRONMENT]
    for start in range(len(whole)):
        said = "\n".join([*(words := read_message(whole[start:])).lines, words.cause])
        assert SECRET not in said, start
        assert not any(name in said for name in names), start


def test_a_dump_in_lines_is_dropped_too_wherever_it_is_cut():
    dump = "env {" + ",\n ".join(f"'{key}': {text!r}" for key, text in ENVIRONMENT.items()) + "}"
    whole = f"{dump}\n{DETAIL}{raised(BAD_BATCH)}"
    for start in range(len(whole)):
        words = read_message(whole[start:])
        assert not any(SECRET in line or "PADDLE_" in line for line in words.lines), start


def test_dictionaries_of_a_program_are_its_own():
    log = "{'loss': '0.3', 'lr': '1e-3', 'model': 'resnet'}\nKeyError: {'lr': 'x'}\n"
    assert list(read_message(log).lines) == log.splitlines()


def test_what_is_left_of_the_programs_last_line_counts():
    rest = f"oughly no way (at /paddle/x.h:96)\nLAUNCH INFO {STAMP} Pod failed\n{'x' * 2000}\n"
    assert "oughly no way (at /paddle/x.h:96)" in read_message(rest).lines


@pytest.mark.parametrize("code", [1, -9, 255])
def test_launchers_lines_alone_are_no_cause(code):
    words = read_message(launched("", code))
    assert words.cause == NOTHING_KEPT
    assert not words.is_error


@pytest.mark.parametrize("kept", [2048, 4096])
@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({f"SERVICE_{i}_PORT": f"tcp://10.0.0.{i}:80" for i in range(200)}, id="many"),
        pytest.param({"PATH": "/bin", "LIST": "a" * 9000}, id="long"),
        pytest.param({"LIST": "a" * 9000, "LAST": "1"}, id="long-first"),
    ],
)
def test_a_dump_that_leaves_no_room_says_that_it_does(kept, variables):
    log = f"{raised(BAD_BATCH)}LAUNCH INFO {STAMP} Exit code 1\nenv {variables}\n"
    words = read_message(log[-kept:])
    assert words.cause == NOTHING_KEPT
    assert words.lines == ()


@pytest.mark.parametrize(("number", "name"), [(2, "SIGINT"), (15, "SIGTERM")])
def test_launcher_that_was_stopped_says_so(number, name):
    log = f"epoch 1\nLAUNCH INFO {STAMP} Terminating with signal {number}\n"
    said = read_message(f"{log}LAUNCH INFO {STAMP} Exit with signal {number}\n")
    assert said.cause == f"PaddlePaddle's launcher was stopped by {name}"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (f"LAUNCH ERROR {STAMP} save log failed: full", "save log failed: full"),
        (f"ERROR {STAMP} launch_utils.py:667] ABORT!!! Out of all 1", "ABORT!!! Out of all 1"),
        (f"[{STAMP}] [   ERROR] launch_utils.py:667 - ABORT!!! Out", "ABORT!!! Out"),
    ],
)
def test_launchers_own_error_counts_where_nothing_else_does(line, cause):
    words = read_message(f"LAUNCH INFO {STAMP} x\n{line}\nLAUNCH INFO {STAMP} y\n")
    assert (words.cause, words.is_error) == (cause, True)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("\n \r\n\x00\n----\n", "", id="blank"),
        pytest.param("a\r\nValueError: x\r\n", "ValueError: x", id="crlf"),
        pytest.param("\x1b[31mValueError: x\x1b[0m\n", "ValueError: x", id="colours"),
        pytest.param("10%|#   |\r20%|##  |\rCUDA error(2)\n", "CUDA error(2)", id="progress-bar"),
        pytest.param("\ufffd\ufffdValueError: \ufffdx\n", "ValueError: \ufffdx", id="not-utf-8"),
        pytest.param("    import einops\nImportError: no\n", "ImportError: no", id="cut-traceback"),
        pytest.param("训练失败\n", "训练失败", id="chinese"),
        pytest.param("x" * 5000, "x" * 500, id="huge"),
    ],
)
def test_any_text_has_one_line_that_is_told(message, cause):
    words = read_message(message)
    assert words.cause == cause
    assert not any(set(line) & set("\x00\r\n\x1b") for line in words.lines)


CONSEQUENCES = [
    PEER_LOST,
    raised("ConnectionResetError: [Errno 104] Connection reset by peer"),
    raised("BrokenPipeError: [Errno 32] Broken pipe"),
    raised("RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [1.2.3.4]"),
    raised("RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 900000ms"),
    raised("OSError: (External) NCCL error(6), remote process exited or there was a network error"),
    raised("OSError: (External) NCCL error(2), unhandled system error."),
    "F1123 08:18:16.569550     2 tcp_store.cc:402] _timeout:3 elapsed:4 (elapsed > _timeout)=1\n",
    raised("ValueError: (InvalidArgument) TCP receive error. Details: Success."),
    "E1123 08:19 brpc_ps_client.cc:195] Fail to connect 10.0.1.3:36000 [E111]Connection refused\n",
    "E1123 08:19 brpc_ps_client.cc:195] response is null: Got EOF of Socket{id=1}\n",
    "E1123 08:19 brpc_ps_client.cc:250] cmd_id:2 failed, err:[E112]Not connected to 10.0.1.3:1\n",
    "E1123 08:19 fleet.cc:321] fleet pull sparse failed, status[-1]\n",
    "E1123 08:19 grpc_client.cc:242] ep:[10.0.1.3:36000] grpc error:Connect Failed\n",
    raised(
        "horovod.common.exceptions.HorovodInternalError: caused by an exception on one of the ranks"
    ),
    raised("torch.distributed.elastic.rendezvous.api.RendezvousClosedError"),
    raised("RendezvousConnectionError: The connection to the C10d store has failed."),
    raised("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"),
    raised("ConnectionResetError: [Errno 104] Connection reset by peer")
    + "\nThe above exception was the direct cause of the following exception:\n\n"
    + raised("RuntimeError: a step of the training has failed"),
]
CAUSES = [
    raised(BAD_BATCH),
    raised("OSError: [Errno 98] Address already in use"),
    raised("OSError: [Errno 107] Transport endpoint is not connected: '/data/train'"),
    raised("ConnectionResetError: tried again") + "epoch 2\n" + raised(BAD_BATCH),
    "Killed\n",
    "epoch 1\n",
    "",
]


@pytest.mark.parametrize(
    ("log", "is_consequence"),
    [*((log, True) for log in CONSEQUENCES), *((log, False) for log in CAUSES)],
)
def test_loss_of_a_peer_alone_is_a_consequence(log, is_consequence):
    assert read_message(log).is_consequence == is_consequence
    assert read_message(launched(log, 1)).is_consequence == is_consequence
