from types import TracebackType
from typing import Any

from asynccfr.batcher.core import Core

class Participants:
    @property
    def count(self) -> int: ...
    @property
    def waiting(self) -> int: ...

class Participant:
    def __new__(cls, core: Core[Any, Any]) -> Participant: ...
    def __enter__(self) -> Participant: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
