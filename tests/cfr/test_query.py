"""Decisions that are awaited where nobody answers them."""

import pytest

from asynccfr.cfr.crew import hold
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.traversal import outcome_sampling
from asynccfr.cfr.walk import Walk
from asynccfr.games.kuhn import KuhnPoker
from asynccfr.seeding import Rng


async def test_an_await_suspends_even_after_one_that_was_given_up():
    """A task of asyncio gives up: it does not know how to wait for a decision."""
    walk = Walk(KuhnPoker().new_state(0), 0, Rng(0), Rule.REGRET_MATCHING_HIGHEST, 0.5, 1e9)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="yield"):
            await walk
    traversal = outcome_sampling(walk, hold)
    assert traversal.send(None) is walk
    traversal.close()
