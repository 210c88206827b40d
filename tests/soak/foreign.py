"""Objects that look as if they were the operator's and are not; nobody may touch them."""

from api.constants import (
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_JOB_NAME,
    LABEL_JOB_UID,
    LABEL_ROLE,
)
from api.objects import Raw, labels_of, uid_of
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
        template = shell("exec sleep 3600")
        jobs = place.job_path(NAMESPACES[0])
        job = paddle_job(HELD, {"worker": (2, template)}, suspend=True)
        self._uid = uid_of(place.client.create(jobs, job))
        labels = {LABEL_JOB_NAME: HELD, LABEL_JOB_UID: self._uid}
        labels |= {LABEL_ATTEMPT: "1", LABEL_ROLE: "worker", LABEL_INDEX: "0"}
        child = {"metadata": {"name": "no-child", "labels": labels}}
        owner: Raw = {"apiVersion": "v1", "kind": "ConfigMap", "name": "no-child"}
        owner |= {"uid": uid_of(self._create("configmaps", child)), "controller": True}
        for name, owners in (("held-worker-0", [owner]), ("held-worker-1", [])):
            metadata = {"name": name, "labels": labels, "ownerReferences": owners}
            self._create("pods", {"metadata": metadata, "spec": template["spec"] | NOBODY})
        service = {"clusterIP": "None", "ports": [{"port": 36000}]}
        self._create("services", {"metadata": {"name": HELD, "labels": labels}, "spec": service})
        another = paddle_job(ANOTHERS, {"worker": (1, template)}, managedBy="example.com/other")
        place.client.create(jobs, another)
        self.made = self.there()

    def there(self) -> list[Raw]:
        """As they are now; the scheduler's and the kubelets' part left out."""
        found = [
            obj
            for kind in ("ConfigMap", "Pod", "Service")
            for obj in self._place.children(kind)
            if labels_of(obj).get(LABEL_JOB_UID) == self._uid
        ]
        return found + [job for job in self._place.jobs() if job["metadata"]["name"] == ANOTHERS]

    def _create(self, plural: str, body: Raw) -> Raw:
        return self._place.client.create(f"{CORE}/namespaces/{NAMESPACES[0]}/{plural}", body)
