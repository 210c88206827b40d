"""Fails a job whose endpoint list is too long for one environment variable."""

from api.constants import Reason
from reconcile.model.move import Move, fail_job
from reconcile.model.view import View
from reconcile.objects.rendezvous import all_have_addresses, build_variables, oversized_variable


def find_oversize(view: View) -> Move | None:
    """Fail a job whose list of peers does not fit into the environment."""
    if view.job.spec.is_elastic or view.config_map is not None or not all_have_addresses(view):
        return None
    name = oversized_variable(build_variables(view))
    if name is None:
        return None
    message = f"{name} would be longer than the kernel allows for one environment variable"
    return fail_job(view, Reason.ENDPOINTS_TOO_LONG, message)
