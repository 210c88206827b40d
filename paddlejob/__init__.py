"""Train with PaddleJobs from Python: a client built on the modules of `kubectl pdj`.

`import paddlejob` is quick, because Client and Job are imported only when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from paddlejob import errors
from paddlejob.errors import *  # noqa: F403

if TYPE_CHECKING:
    from paddlejob.client import Client as Client
    from paddlejob.job import Job as Job

__all__ = ["Client", "Job"]
__all__ += errors.__all__


def __getattr__(name: str) -> Any:
    if name not in ("Client", "Job"):
        raise AttributeError(f"module 'paddlejob' has no attribute {name!r}")
    return getattr(import_module(f"paddlejob.{name.lower()}"), name)
