"""`version`: of this tool and of the cluster, and whether they fit."""

import argparse
from importlib import metadata

from api.constants import API_VERSION, VERSION
from api.crd import CRD_NAME
from controller.client.errors import ApiError, Forbidden
from pdj.errors import FAILED, OK, Problem
from pdj.gather.jobs import NO_OPERATOR, check_served
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `version`."""
    parser.add_argument("--client", action="store_true", help="of this tool alone")


def run(session: Session) -> int:
    """Print the versions. Exit code 1 where they do not fit, or nobody answers."""
    session.screen.write(f"kubectl-pdj   {own_version()} ({API_VERSION})")
    if session.options.client:
        return OK
    version = session.client.get("/version")
    session.screen.write(f"Kubernetes    {plain(version.get('gitVersion', 'unknown'))}")
    try:
        check_served(session.client)
    except Problem:
        session.screen.write(f"PaddleJob     {NO_OPERATOR}")
        return FAILED
    session.screen.write(f"PaddleJob     {API_VERSION}")
    session.screen.write(_fit(session))
    return OK


def own_version() -> str:
    """The version of the package; of a checkout that nobody installed, unknown."""
    try:
        return metadata.version("paddlejob-operator")
    except metadata.PackageNotFoundError:
        return "unknown (a checkout)"


def _fit(session: Session) -> str:
    """Whether the installed CRD has the fields that this tool knows."""
    from api.schema import job_schema

    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD_NAME}"
    try:
        crd = session.client.get(path)
    except (Forbidden, ApiError):
        return "whether the fields fit cannot be seen: you may not read the CRD"
    versions = [each for each in crd["spec"]["versions"] if each["name"] == VERSION]
    theirs = versions[0]["schema"]["openAPIV3Schema"]["properties"]
    ours = job_schema()["properties"]
    missing = _missing(ours, theirs)
    unknown = _missing(theirs, ours)
    if not missing and not unknown:
        return "they fit"
    if missing:
        return f"the cluster's CRD is older: it lacks {plain(', '.join(missing))}"
    return f"the cluster's CRD is newer: this tool does not know {plain(', '.join(unknown))}"


def _missing(ours: dict[str, dict[str, dict[str, object]]], theirs: object) -> list[str]:
    found: list[str] = []
    for part in ("spec", "status"):
        known = theirs[part]["properties"]  # type: ignore[index]
        found += [f"{part}.{name}" for name in ours[part]["properties"] if name not in known]
    return sorted(found)
