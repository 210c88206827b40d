"""The exceptions of the client: each text is one sentence, without details of a request."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kube.errors import ApiError
    from pdj.errors import Problem

__all__ = [
    *("AlreadyThere", "ImageFailed", "JobFailed", "NoCluster", "NoOperator", "NotAllowed"),
    *("NotInTime", "NotSendable", "PaddleJobError", "QuotaExceeded", "Refused"),
]

OVER_QUOTA = "exceeded quota"
"""The API server's words for a used-up quota."""


class PaddleJobError(Exception):
    """Something could not be done; the text is one sentence that says why."""


class NoCluster(PaddleJobError):
    """No kubeconfig names a cluster, or the cluster does not answer or cannot handle requests."""


class NoOperator(PaddleJobError):
    """The cluster does not know PaddleJobs: its administrator has to install the operator."""


class NotAllowed(PaddleJobError):
    """The login is refused, or a permission or policy forbids the request; the text says which."""


class QuotaExceeded(PaddleJobError):
    """A ResourceQuota of the namespace is used up."""


class Refused(PaddleJobError):
    """The cluster refuses the job as invalid; the text names the field."""


class AlreadyThere(PaddleJobError):
    """The namespace has a job of this name."""


class NotSendable(PaddleJobError, ValueError):
    """An argument has the wrong type, or cannot be sent, such as a function that needs more than
    its source.
    """


class NotInTime(PaddleJobError, TimeoutError):
    """A wait has timed out, and the job goes on; the text says what the job waits for."""


class JobFailed(PaddleJobError):
    """The job has failed. The text is its oldest failure record, or else reason and message."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class ImageFailed(JobFailed):
    """The job has failed because its image cannot be pulled."""


@contextmanager
def translating(otherwise: type[PaddleJobError] = PaddleJobError) -> Iterator[None]:
    """Raise Problem and ApiError as errors of this module, or as `otherwise` if none fits."""
    from kube.errors import ApiError
    from pdj.errors import Problem

    try:
        yield
    except (Problem, ApiError) as error:
        raise translate(error, otherwise) from None


def translate(
    error: "Problem | ApiError", otherwise: type[PaddleJobError] = PaddleJobError
) -> PaddleJobError:
    """The exception of this module for a Problem or an ApiError; see `translating`."""
    from kube import errors as kube
    from pdj import errors as pdj
    from pdj.gather import jobs
    from pdj.text.errors import explain, one_line

    kinds: dict[type[Exception], type[PaddleJobError]] = {
        jobs.NoOperator: NoOperator,
        pdj.TimedOut: NotInTime,
        pdj.Usage: NotSendable,
        kube.Unauthorized: NotAllowed,
        kube.Forbidden: QuotaExceeded if OVER_QUOTA in str(error) else NotAllowed,
        kube.AlreadyExists: AlreadyThere,
        kube.Invalid: Refused,
        kube.Throttled: NoCluster,
        kube.Transient: NoCluster,
    }
    kind = next((to for of, to in kinds.items() if isinstance(error, of)), None)
    if kind is None and isinstance(error.__cause__, kube.ApiError):
        kind = type(translate(error.__cause__))
    text = str(error) if isinstance(error, pdj.Problem) else explain(error)
    parts = (*getattr(error, "__notes__", ()), text, getattr(error, "by_argument", ""))
    return (kind or otherwise)(one_line(": ".join(filter(None, parts))))
