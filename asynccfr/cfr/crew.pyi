from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic

from asynccfr.cfr.query import Query
from asynccfr.cfr.traversal import Evaluate, Scheme, Traversal

class Waiting:
    """Traversals that wait for the network of one group; as long as there are of them.

    Attributes:
        group: of their queries.
        queries: what they wait for.
    """

    group: Hashable
    queries: list[Query]
    def __len__(self) -> int: ...

def hold(query: Query) -> Query:
    """Leave a query to whoever drives the coroutine that awaits it."""

class Crew(Generic[Traversal]):
    """Runs up to `size` traversals at a time; new ones take the places of those that are over.

    Args:
        scheme: makes the coroutine of a traversal; see `asynccfr.cfr.traversal`.
        walks: what to traverse, as `(number, walk)`.
        size: how many at a time.
        together: the most of them in one `Waiting`.
        evaluate: what the coroutines await for their queries: `hold`, or what answers some at once.
        finish: called as `finish(number, walk)` for each that is over.

    Attributes:
        is_over: whether every traversal is.
    """

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
    def go_on(self, answered: Iterable[Waiting] = ()) -> list[Waiting]:
        """Resume those in `answered`, begin others in free places; return what all these wait for.

        A list of `Waiting`. Raises what a traversal raises, and RuntimeError if one awaits anything
        but a query.
        """
