"""Objects that look as if they were the operator's and are not; nobody may touch them."""

from api.constants import (
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_JOB_NAME,
    LABEL_JOB_UID,
    LABEL_ROLE,
)
from api.objects import Raw, uid_of
from tests.live.lab import CORE, paddle_job, shell
from tests.soak.place import NAMESPACES, Place

HELD = "held"
"""A job that is suspended all the time: the others seem to be its children."""
ANOTHERS = "anothers"
"""A job that another controller manages."""
PERMANENT = (HELD, ANOTHERS)
NOBODY = {"schedulerName": "nobody"}


class Foreign:
    """Made once; `made` is what they were then."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._namespace = NAMESPACES[0]
        template = shell("exec sleep 3600")
        held = self._submit(paddle_job(HELD, {"worker": (2, template)}, suspend=True))
        another = paddle_job(ANOTHERS, {"worker": (1, template)}, managedBy="example.com/other")
        labels = _labels(held)
        config_map = self._create(
            "configmaps", {"metadata": {"name": "no-child", "labels": labels}}
        )
        owner: Raw = {"apiVersion": "v1", "kind": "ConfigMap", "name": "no-child"}
        owner |= {"uid": uid_of(config_map), "controller": True}
        metadata = {"name": "held-worker-0", "labels": labels, "ownerReferences": [owner]}
        self._create("pods", {"metadata": metadata, "spec": template["spec"] | NOBODY})
        self._create(
            "pods",
            {
                "metadata": {"name": "held-worker-1", "labels": labels},
                "spec": template["spec"] | NOBODY,
            },
        )
        service = {"clusterIP": "None", "ports": [{"port": 36000}]}
        self._create("services", {"metadata": {"name": HELD, "labels": labels}, "spec": service})
        self._submit(another)
        self.made = self.there()

    def there(self) -> list[Raw]:
        """As they are now; the scheduler's and the kubelets' part left out."""
        found = []
        for kind in ("ConfigMap", "Pod", "Service"):
            found += [obj for obj in self._place.children(kind) if _labels_uid(obj) == self._uid]
        return found + [job for job in self._place.jobs() if job["metadata"]["name"] == ANOTHERS]

    def _submit(self, job: Raw) -> Raw:
        made = self._place.client.create(self._place.job_path(self._namespace), job)
        if made["metadata"]["name"] == HELD:
            self._uid = uid_of(made)
        return made

    def _create(self, plural: str, body: Raw) -> Raw:
        return self._place.client.create(f"{CORE}/namespaces/{self._namespace}/{plural}", body)


def _labels(job: Raw) -> dict[str, str]:
    return {
        LABEL_JOB_NAME: HELD,
        LABEL_JOB_UID: uid_of(job),
        LABEL_ATTEMPT: "1",
        LABEL_ROLE: "worker",
        LABEL_INDEX: "0",
    }


def _labels_uid(obj: Raw) -> str:
    return str((obj["metadata"].get("labels") or {}).get(LABEL_JOB_UID, ""))
