"""What the API server, by its own profiler, and the operator do with their CPU during a burst.

The burst is one of its own: profiling costs time, so no rate is taken from it.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil

from benchmarks import pprof
from benchmarks.load import create_jobs
from benchmarks.operators import Operator
from benchmarks.pyspy import LockProfile, Recorder
from benchmarks.scenarios.burst import LEAST_SECONDS
from benchmarks.scenarios.common import (
    SERVERS,
    WORKERS,
    job_names,
    wait_running,
    working_operator,
)
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
    ("who it is and what they may", r"authenticat|authoriz|flowcontrol|impersonat"),
    ("HTTP and TLS", r"net/http|crypto/|http2|golang\.org/x/net"),
    ("finding the next goroutine", r"^runtime\.(schedule|mcall|sysmon|mstart)"),
)


@dataclass(frozen=True)
class Profile:
    """Shares of the server's CPU by what it was for; the operator's where py-spy can look."""

    server: dict[str, float]
    operator: LockProfile | None


def measure_profile(site: Site, operator: Operator, jobs: int, seconds: float) -> Profile:
    """Where the CPU goes during a burst that takes about so many seconds."""
    site.report(f"profile: {jobs} jobs, with the profilers of API server and operator")
    seconds = max(1, ceil(seconds))
    names = job_names("profile", jobs)
    manifests = [site.adapter.build_job(name, SERVERS, WORKERS) for name in names]
    path = f"/debug/pprof/profile?seconds={seconds}"
    with working_operator(site, operator, "profile") as running, ThreadPoolExecutor(1) as pool:
        profile = pool.submit(site.rest.call, "GET", path)
        recorder = Recorder(running.process.pid, seconds, site.logs)
        create_jobs(site.rest, site.adapter, manifests)
        wait_running(site, running, names, LEAST_SECONDS + jobs)
        server = pprof.shares(profile.result(), KINDS)
        own = recorder.profile()
    site.clean()
    return Profile(server, own)
