"""The CustomResourceDefinition of PaddleJob, for apiextensions.k8s.io/v1."""

from api.constants import GROUP, KIND, OPERATOR_LABELS, PLURAL, SHORT_NAME, SINGULAR, VERSION
from api.objects import Raw
from api.schema import job_schema

CRD_NAME = f"{PLURAL}.{GROUP}"
COLUMNS = (
    ("Status", "string", ".status.phase", "The job in one word."),
    ("Mode", "string", ".status.mode", "How the job trains."),
    ("PS", "string", ".status.ps.ready", "Servers that run, of those wanted."),
    ("Worker", "string", ".status.worker.ready", "Workers that run, of those wanted."),
    ("Age", "date", ".metadata.creationTimestamp", "Time since the job was created."),
)
WIDE_COLUMNS = (
    ("Heter", "string", ".status.heter.ready", "Heter workers that run, of those wanted."),
    ("Attempt", "integer", ".status.attempt", "The number of this attempt, from 1."),
    ("Restarts", "integer", ".status.restartCount", "How often the job was restarted."),
    ("Reason", "string", ".status.reason", "Why the job is as it is, in one word."),
    ("Message", "string", ".status.message", "Why the job is as it is."),
)
"""What `-o wide` adds."""
PROTECTION = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false,ServerSideApply=true",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
"""Keeps Argo CD and Flux from deleting the CRD, because all jobs would be deleted with it. Argo CD
applies the CRD on the server's side: it is almost too long for the last-applied annotation."""
SCALE = {
    "specReplicasPath": ".spec.worker.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}

UNSEEN = {"observedGeneration": 0}
"""The status of a new job: if a job had no status, kstatus would call it ready."""


def build_crd() -> Raw:
    """The CRD for Kubernetes 1.25 and newer."""
    schema = job_schema()
    schema["properties"]["status"]["default"] = dict(UNSEEN)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": CRD_NAME,
            "labels": dict(OPERATOR_LABELS),
            "annotations": dict(PROTECTION),
        },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": SINGULAR,
                "shortNames": [SHORT_NAME],
                "categories": ["all"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": columns("jsonPath"),
                    "subresources": {"status": {}, "scale": dict(SCALE)},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def columns(path_key: str) -> list[Raw]:
    """The columns of `kubectl get pdj` after the name; v1beta1 spells `jsonPath` differently."""
    return [
        {"name": name, "type": kind, path_key: path, "description": description} | more
        for table, more in ((COLUMNS, {}), (WIDE_COLUMNS, {"priority": 1}))
        for name, kind, path, description in table
    ]
