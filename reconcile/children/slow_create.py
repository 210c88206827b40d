"""A create of another job of the namespace that took long to fail, as with a webhook that hangs.

Each try takes a worker for as long. Such a create therefore counts for the other jobs of its
namespace for a while: a job that lacks a child of the same kind, and was refused none itself, says
so before it tries, and tries a moment later.
"""

from dataclasses import replace

from reconcile.children.refusals import UNTRIED_PAUSE_SECONDS, lacking_children
from reconcile.children.refused import explain_refusals
from reconcile.model.hold import Hold, Stop
from reconcile.model.view import View

SPEAKS_SECONDS = 30.0
"""For how long it speaks for the other jobs of its namespace."""


def await_slow_create(view: View) -> Hold | None:
    """The wait for a kind of child that nobody in the namespace could create a moment ago."""
    slow = view.observed.slow_create
    if slow is None or view.observed.refusals or view.observed.slow_seconds >= SPEAKS_SECONDS:
        return None
    names = sorted(lacking_children(view).get(slow.kind, ()))
    if not names:
        return None
    refusal = replace(slow, name=names[0])
    hold = explain_refusals((refusal,))
    return replace(hold, stops=Stop.CREATES, seconds=UNTRIED_PAUSE_SECONDS, assumed=refusal)
