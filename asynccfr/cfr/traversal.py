"""The sampling schemes, each one coroutine whose only suspension point is the policy call.

Who drives the coroutine decides what that call costs: see `asynccfr.inference.drivers`.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from asynccfr.cfr.query import Query
from asynccfr.cfr.trajectory import Episode
from asynccfr.cfr.walk import Walk

Evaluate = Callable[[Query], Awaitable[object]]
"""Answers a decision that waits, in place."""

Traversal = TypeVar("Traversal", bound=Query)
Scheme = Callable[[Traversal, Evaluate], Coroutine[Any, Any, object]]


async def outcome_sampling(walk: Walk, evaluate: Evaluate) -> None:
    """Sample one action everywhere (Lanctot et al. 2009); a loop, for games of any depth."""
    while walk.advance():
        await evaluate(walk)
    walk.back_up()


async def outcome_sampling_with_baseline(walk: Walk, evaluate: Evaluate) -> None:
    """Outcome sampling of a `BaselineWalk`, that in the end asks what its histories were worth."""
    while walk.advance():
        await evaluate(walk)
    await evaluate(walk)
    walk.back_up()


async def external_sampling(walk: Walk, evaluate: Evaluate) -> float:
    """Try every action of the traverser, sample the others'; return the walk's value.

    Deep CFR's TRAVERSE (Brown et al. 2019, algorithm 2). Recursion only where it fans out.
    """
    while walk.advance():
        await evaluate(walk)
        if walk.at_traverser:
            branches = walk.branches()
            return walk.join(branches, [await external_sampling(b, evaluate) for b in branches])
    return walk.utility


async def self_play(episode: Episode, evaluate: Evaluate) -> None:
    """Play one game, both seats sampled from the current policy."""
    while episode.advance():
        await evaluate(episode)
