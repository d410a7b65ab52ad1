"""The sampling schemes, each one coroutine whose only suspension point is the policy call.

Who drives the coroutine decides what that call costs: see `asynccfr.inference.drivers`. Compiled,
because what the interpreter adds to a decision would be a good part of all that is spent on it.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from asynccfr.cfr.query cimport Query
from asynccfr.cfr.episode cimport Episode
from asynccfr.cfr.walk cimport Walk

# Answers a decision that waits, in place.
Evaluate = Callable[[Query], Awaitable[object]]

Traversal = TypeVar("Traversal", bound=Query)
Scheme = Callable[[Traversal, Evaluate], Coroutine[Any, Any, object]]


async def outcome_sampling(Walk walk, evaluate):
    """Sample one action everywhere (Lanctot et al. 2009); a loop, for games of any depth."""
    while walk.advance():
        await evaluate(walk)
    walk.back_up()


async def outcome_sampling_with_baseline(Walk walk, evaluate):
    """Outcome sampling of a `BaselineWalk`, that in the end asks what its histories were worth."""
    while walk.advance():
        await evaluate(walk)
    await evaluate(walk)
    walk.back_up()


async def external_sampling(Walk walk, evaluate):
    """Try every action of the traverser, sample the others'; return the walk's value.

    Deep CFR's TRAVERSE (Brown et al. 2019, algorithm 2). Recursion only where it fans out.
    """
    while walk.advance():
        await evaluate(walk)
        if walk.at_traverser:
            branches = walk.branches()
            values = []
            for branch in branches:
                values.append(await external_sampling(branch, evaluate))
            return walk.join(branches, values)
    return walk.back_up()


async def self_play(Episode episode, evaluate):
    """Play one game, both seats sampled from the current policy."""
    while episode.advance():
        await evaluate(episode)
