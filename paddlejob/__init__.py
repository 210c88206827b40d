"""Train with PaddleJobs from Python: a client built on the modules of `kubectl pdj`.

`import paddlejob` is cheap: Client and Job, with the tools behind them, are imported when used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from paddlejob.errors import AlreadyThere as AlreadyThere
from paddlejob.errors import ImageFailed as ImageFailed
from paddlejob.errors import JobFailed as JobFailed
from paddlejob.errors import NoCluster as NoCluster
from paddlejob.errors import NoOperator as NoOperator
from paddlejob.errors import NotAllowed as NotAllowed
from paddlejob.errors import NotInTime as NotInTime
from paddlejob.errors import NotSendable as NotSendable
from paddlejob.errors import PaddleJobError as PaddleJobError
from paddlejob.errors import QuotaExceeded as QuotaExceeded
from paddlejob.errors import Refused as Refused

if TYPE_CHECKING:
    from paddlejob.client import Client as Client
    from paddlejob.job import Job as Job

__all__ = [
    *("AlreadyThere", "Client", "ImageFailed", "Job", "JobFailed", "NoCluster", "NoOperator"),
    *("NotAllowed", "NotInTime", "NotSendable", "PaddleJobError", "QuotaExceeded", "Refused"),
]


def __getattr__(name: str) -> Any:
    if name not in ("Client", "Job"):
        raise AttributeError(f"module 'paddlejob' has no attribute {name!r}")
    return getattr(import_module(f"paddlejob.{name.lower()}"), name)
