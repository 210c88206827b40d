"""The end of a failed pod's log, in a ConfigMap that outlives the pod, if the job asks for it."""

import base64
import zlib
from functools import partial

from api.constants import LABEL_JOB_UID
from api.objects import Raw
from reconcile.model.plan import KeepLog
from reconcile.model.pods import PodView
from reconcile.model.view import View
from reconcile.objects.rendezvous import child_labels

MAX_ATTEMPTS = 4
MAX_PACKED_BYTES = 4 << 10
"""The most packed bytes of one attempt's log; MAX_ATTEMPTS such logs have 16 KiB."""
MAX_KEPT_BYTES = 64 << 10
_GZIP = 31
"""With this `wbits`, zlib reads and writes the format of gzip."""


def kept_log_name(job_name: str, attempt: int) -> str:
    """The name of the attempt's ConfigMap. No other child has it, as job names have no dots."""
    return f"{job_name}.log-{attempt}"


def pack_log(log: bytes) -> str:
    """The log's last lines that fit, packed for binaryData."""
    while len(packed := zlib.compress(log, wbits=_GZIP)) > MAX_PACKED_BYTES:
        rest = log[len(log) // 4 :]
        log = rest.partition(b"\n")[2] or rest
    return base64.b64encode(packed).decode()


def unpack_log(config_map: Raw, pod: str) -> list[str]:
    """The first 64 KiB of a pod's kept log as lines; none if it is missing or cannot be read."""
    try:
        packed = base64.b64decode((config_map.get("binaryData") or {}).get(pod, ""))
        log = zlib.decompressobj(_GZIP).decompress(packed, MAX_KEPT_BYTES)
    except (ValueError, zlib.error):
        return []
    return log.decode(errors="replace").splitlines()


def keep_log(view: View, pod: PodView | None) -> KeepLog | None:
    """The log to keep: that of the pod that ended the attempt. None if the job keeps no logs."""
    if pod is None or pod.end is None or not view.job.keeps_logs:
        return None
    former = view.attempt - MAX_ATTEMPTS
    name = kept_log_name(view.job.name, former) if former > 0 else ""
    return KeepLog(pod.name, pod.end.container, partial(_build, view, pod.name), name)


def _build(view: View, pod: str, log: bytes) -> Raw:
    """The ConfigMap. As it has no UID label, no watch shows it and no pass deletes it."""
    labels = child_labels(view.job, view.attempt)
    del labels[LABEL_JOB_UID]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": view.job.child_metadata(kept_log_name(view.job.name, view.attempt), labels),
        "immutable": True,
        "binaryData": {pod: pack_log(log)},
    }
