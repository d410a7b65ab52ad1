from contextvars import ContextVar
from typing import Any

from asynccfr.batcher.batch import Batch
from asynccfr.batcher.core import Core

executing: ContextVar[Running | None]

class Running:
    def __new__(cls, core: Core[Any, Any], batch: Batch[Any, Any]) -> Running: ...
    def end(self) -> None: ...
