from types import TracebackType
from typing import Any

from asynccfr.batcher.core import Core

class Participants:
    """Of one batcher: how many there are, and how many of them wait for a call."""
    @property
    def count(self) -> int: ...
    @property
    def waiting(self) -> int: ...

class Participant:
    """Somebody who has promised to wait for one call at a time; see `Batcher.participant`.

    One within another stands for it: only the innermost count.
    """
    def __new__(cls, core: Core[Any, Any]) -> Participant: ...
    def __enter__(self) -> Participant: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
