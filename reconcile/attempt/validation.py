"""Fails a job whose spec cannot be carried out, although the API server accepted it."""

from api.constants import Reason
from api.validation import validate_job
from reconcile.model.move import Move, fail_job
from reconcile.model.view import View


def find_invalid_spec(view: View) -> Move | None:
    """Fail a job that does not pass validation. A job that has a phase is not validated again."""
    errors = [] if view.job.status.phase else validate_job(view.observed.job)
    return fail_job(view, Reason.INVALID_SPEC, "; ".join(map(str, errors))) if errors else None
