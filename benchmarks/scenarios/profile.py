"""Profile: what the API server and the operator spend CPU on during a burst.

This burst serves only for the profile. No rate is measured, because profiling takes CPU.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil

from benchmarks import pprof, pyspy
from benchmarks.load import job_names, start_and_wait, working_operator
from benchmarks.operators import Operator
from benchmarks.scenarios.burst import LEAST_SECONDS
from benchmarks.site import Site

KINDS: pprof.Kinds = (
    ("collecting garbage", r"^runtime\.(gcBgMarkWorker|gcAssistAlloc|bgsweep|bgscavenge)"),
    ("checking the CRD's rules (CEL)", r"apiserver/schema/cel\.|google/cel-go"),
    ("noting who manages which field", r"managedfields|structured-merge-diff"),
    ("talking to etcd", r"etcd/client|google\.golang\.org/grpc"),
    ("JSON", r"encoding/json|json-iterator|sigs\.k8s\.io/json"),
    ("protobuf", r"serializer/protobuf|\)\.(Unmarshal|MarshalToSizedBuffer|Size)$"),
    (
        "defaults, conversion, validation, copies",
        r"(?i)validat|default(ing|er)|conver|deepcopy|prun",
    ),
    ("handing changes to watchers", r"storage/cacher|handlers\.\(\*WatchServer\)"),
    ("authentication, authorization, flow control", r"authenticat|authoriz|flowcontrol|impersonat"),
    ("HTTP and TLS", r"net/http|crypto/|http2|golang\.org/x/net"),
    ("finding the next goroutine", r"^runtime\.(schedule|mcall|sysmon|mstart)"),
)


@dataclass(frozen=True)
class Profile:
    """Shares of the API server's CPU by purpose; `operator` is None if py-spy cannot read it."""

    server: dict[str, float]
    operator: pyspy.LockProfile | None


def measure_profile(site: Site, operator: Operator, jobs: int, seconds: float) -> Profile:
    """Profile a burst of this number of jobs for this many seconds, rounded up."""
    site.report(f"profile: {jobs} jobs, with the profilers of API server and operator")
    seconds = max(1, ceil(seconds))
    names = job_names("profile", jobs)
    path = f"/debug/pprof/profile?seconds={seconds}"
    with working_operator(site, operator, "profile") as running, ThreadPoolExecutor(2) as pool:
        server = pool.submit(site.client.send, "GET", path)
        own = pool.submit(pyspy.record, running.pid, seconds, site.logs)
        start_and_wait(site, running, names, LEAST_SECONDS + jobs)
        stacks = pprof.read_stacks(server.result().body)
        profile = Profile(pprof.shares(stacks, KINDS), own.result())
    site.clean()
    return profile
