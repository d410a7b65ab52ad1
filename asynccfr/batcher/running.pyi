from contextvars import ContextVar
from typing import Any

from asynccfr.batcher.batch import Batch
from asynccfr.batcher.core import Core

executing: ContextVar[Running | None]

class Running:
    """A batch function at work, as known to whatever it calls.

    It is the value of `executing` in the function's context, which tasks and threads that it starts
    inherit. Once the function has returned it says nothing any more.
    """
    def __new__(cls, core: Core[Any, Any], batch: Batch[Any, Any]) -> Running: ...
    def end(self) -> None:
        """The function has returned."""
