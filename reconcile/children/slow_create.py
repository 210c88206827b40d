"""Delays creates after a create in the same namespace took long to fail, as with a hanging webhook.

Each such create blocks a worker. So for a while, other jobs of that namespace that need a child of
the same kind do not try at once: they report the same failure, and try in a later pass.
"""

from dataclasses import replace

from reconcile.children.refusals import explain_refusals, lacking_children
from reconcile.model.hold import Hold, Stop
from reconcile.model.pause import UNTRIED_PAUSE_SECONDS
from reconcile.model.view import View

SPEAKS_SECONDS = 30.0
"""For this long after a slow create, the other jobs of its namespace do not try at once."""


def await_slow_create(view: View) -> Hold | None:
    """Wait if another job of the namespace just failed slowly to create the same kind of child."""
    slow = view.observed.slow_create
    if slow is None or view.observed.refusals or view.observed.slow_seconds >= SPEAKS_SECONDS:
        return None
    names = sorted(lacking_children(view).get(slow.kind, ()))
    if not names or any(hold.stops for hold in view.holds):
        return None
    refusal = replace(slow, name=names[0])
    hold = explain_refusals(view, (refusal,))
    return replace(hold, stops=Stop.CREATES, seconds=UNTRIED_PAUSE_SECONDS, assumed=refusal)
