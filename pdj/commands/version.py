"""`version`: the versions of this tool and of the cluster, and whether they match."""

import argparse
from datetime import timedelta

from api.constants import API_VERSION, RELEASE, VERSION
from api.crd import CRD_NAME
from api.objects import Raw, moment_of, name_of, namespace_of
from kube.errors import ApiError, Transient
from pdj.errors import FAILED, OK, Problem
from pdj.gather.bundle import OPERATOR
from pdj.gather.jobs import NO_OPERATOR, check_served
from pdj.session import Session
from pdj.text.terminal import plain

FITS = "this tool and the cluster's CRD match"
COMPETE = "two operators lead at once and overwrite each other's changes: remove one of them"
ALL_LEASE = "paddlejob-operator-all"
"""The Lease of an operator for all namespaces, whose jobs are also those of any other."""
STALE_SECONDS = 60.0
"""A Lease that was renewed this much earlier than the latest is nobody's any more."""
UNSEEN = "the fields cannot be compared: the CRD cannot be read"


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `version`."""
    parser.add_argument("--client", action="store_true", help="print only this tool's version")


def run(session: Session) -> int:
    """Print the versions. Returns 1 if the CRD is missing or differs, but 0 without a cluster."""
    session.screen.write(f"kubectl-pdj   {RELEASE} ({API_VERSION})")
    if session.options.client:
        return OK
    try:
        version = session.client.get("/version")
    except (Problem, Transient) as error:
        session.screen.write(f"Kubernetes    no answer: {plain(error)}")
        return OK
    session.screen.write(f"Kubernetes    {plain(version.get('gitVersion', 'unknown'))}")
    try:
        check_served(session.client)
    except Problem:
        session.screen.write(f"PaddleJob     {NO_OPERATOR}")
        return FAILED
    session.screen.write(f"PaddleJob     {API_VERSION}")
    for image in _operators(session):
        session.screen.write(f"Operator      {plain(image)}")
    leaders = _leaders(session)
    for leader in leaders:
        session.screen.write(f"Leads         {plain(leader)}")
    if len(leaders) > 1 and any(f"/{ALL_LEASE} " in leader for leader in leaders):
        session.screen.write(COMPETE)
        return FAILED
    fit = _fit(session)
    session.screen.write(fit)
    return OK if fit in (FITS, UNSEEN) else FAILED


def _of_operators(session: Session, path: str) -> list[Raw] | None:
    """The operators' objects of a kind; None if these cannot be read."""
    try:
        return session.client.list(path, {"labelSelector": OPERATOR})[0]
    except ApiError:
        return None


def _operators(session: Session) -> list[str]:
    """The images of the operators' Deployments; empty if these cannot be read."""
    deployments = _of_operators(session, "/apis/apps/v1/deployments") or []
    pods = [each["spec"]["template"]["spec"] for each in deployments]
    return sorted({str(each.get("image")) for pod in pods for each in pod["containers"]})


def _leaders(session: Session) -> list[str]:
    """The Leases that operators hold, and who; without those that nobody has renewed for long."""
    leases = _of_operators(session, "/apis/coordination.k8s.io/v1/leases")
    if leases is None:
        return ["unknown: the Leases cannot be read"]
    held = {}
    for lease in leases:
        spec = lease.get("spec") or {}
        if holder := spec.get("holderIdentity"):
            where = f"{namespace_of(lease)}/{name_of(lease)}"
            held[f"{where} {holder}"] = moment_of(spec.get("renewTime"))
    latest = max(filter(None, held.values()), default=None)
    fresh = timedelta(seconds=STALE_SECONDS)
    return sorted(who for who, at in held.items() if at and latest and latest - at < fresh)


def _fit(session: Session) -> str:
    """A sentence that says whether the installed CRD has just the fields that this tool knows."""
    from api.schema import job_schema

    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD_NAME}"
    try:
        crd = session.client.get(path)
    except ApiError:
        return UNSEEN
    versions = [each for each in crd["spec"]["versions"] if each["name"] == VERSION]
    theirs = _fields(versions[0]["schema"]["openAPIV3Schema"])
    ours = _fields(job_schema())
    if not theirs:
        return "the cluster's CRD is not of this project: it lists no fields of spec or status"
    if missing := ours - theirs:
        return f"the cluster's CRD is older: it lacks {plain(', '.join(sorted(missing)))}"
    if unknown := theirs - ours:
        names = plain(", ".join(sorted(unknown)))
        return f"the cluster's CRD is newer: this tool does not know {names}"
    return FITS


def _fields(schema: Raw) -> set[str]:
    """The fields of spec and status, by their paths."""
    parts = schema.get("properties") or {}
    return {
        f"{part}.{name}"
        for part in ("spec", "status")
        for name in (parts.get(part) or {}).get("properties") or ()
    }
