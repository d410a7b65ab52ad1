from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from asynccfr.cfr.episode import Episode
from asynccfr.cfr.query import Query
from asynccfr.cfr.walk import Walk

Evaluate: TypeAlias = Callable[[Query], Awaitable[object]]

Traversal = TypeVar("Traversal", bound=Query)
Scheme: TypeAlias = Callable[[Traversal, Evaluate], Coroutine[Any, Any, object]]

async def outcome_sampling(walk: Walk, evaluate: Evaluate) -> None:
    """Sample one action everywhere (Lanctot et al. 2009); a loop, for games of any depth."""

async def outcome_sampling_with_baseline(walk: Walk, evaluate: Evaluate) -> None:
    """Outcome sampling of a `BaselineWalk`, that in the end asks what its histories were worth."""

async def external_sampling(walk: Walk, evaluate: Evaluate) -> float:
    """Try every action of the traverser, sample the others'; return the walk's value.

    Deep CFR's TRAVERSE (Brown et al. 2019, algorithm 2). Recursion only where it fans out.
    """

async def self_play(episode: Episode, evaluate: Evaluate) -> None:
    """Play one game, both seats sampled from the current policy."""
