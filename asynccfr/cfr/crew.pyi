from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic

from asynccfr.cfr.query import Query
from asynccfr.cfr.traversal import Evaluate, Scheme, Traversal

class Waiting:
    group: Hashable
    queries: list[Query]
    def __len__(self) -> int: ...

def hold(query: Query) -> Query: ...

class Crew(Generic[Traversal]):
    is_over: bool
    def __init__(
        self,
        scheme: Scheme[Traversal],
        walks: Iterator[tuple[int, Traversal]],
        size: int,
        together: int,
        evaluate: Evaluate,
        finish: Callable[[int, Traversal], None],
    ) -> None: ...
    def go_on(self, answered: Iterable[Waiting] = ()) -> list[Waiting]: ...
