"""One headless Service per pod, for `intranet: Service`.

Names resolve before pods are ready, because peers look each other up while they start.
"""

from api.constants import LABEL_INDEX, LABEL_JOB_UID, LABEL_RES_NAME, LABEL_ROLE, PORTS_PER_POD
from api.objects import Raw
from reconcile.model.view import View
from reconcile.objects.addresses import port_of
from reconcile.objects.rendezvous import child_labels


def build_service(view: View, name: str) -> Raw:
    """The Service of the pod with this name. All attempts use the same one."""
    role, index = view.wanted[name]
    labels = child_labels(view.job, 1) | {LABEL_ROLE: str(role), LABEL_INDEX: str(index)}
    first = port_of(view, name)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": view.job.child_metadata(name, labels),
        "spec": {
            "clusterIP": "None",
            "ipFamilyPolicy": "PreferDualStack",  # PaddlePaddle's launchers listen on IPv4 alone
            "publishNotReadyAddresses": True,
            "selector": {LABEL_RES_NAME: name, LABEL_JOB_UID: view.job.uid},
            "ports": [
                {"name": f"p-{offset}", "port": first + offset, "targetPort": first + offset}
                for offset in range(PORTS_PER_POD)
            ],
        },
    }
