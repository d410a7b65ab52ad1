"""The policy cache: the same answers, fewer rows, bounded, off when it does not pay."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.cfr.query import Query
from asynccfr.cfr.regret_matching import Rule
from asynccfr.games import load_game
from asynccfr.inference import policy_cache
from asynccfr.inference.evaluator import Evaluator
from asynccfr.inference.policy_cache import PolicyCache
from tests.bystander import Bystander
from tests.solvers.small import digests, small_config

GAME = load_game("leduc_poker")


class Counting:
    """A linear network that notes how many rows that were not zero it was asked for."""

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        size = GAME.information_state_tensor_size
        self.weights = torch.randn(size, GAME.num_actions, generator=generator)
        self.batches = []

    def __call__(self, rows):
        self.batches.append(len(rows))
        return rows @ self.weights


def query(index):
    """A decision of player 0; the first of a game has one of six information states."""
    state = GAME.new_state(index)
    if index % 3 == 2:
        state.apply(state.legal_actions()[0])
        state.apply(state.legal_actions()[-1])
    return Query(state)


def evaluator(network, *caches, max_batch=64):
    return Evaluator(
        [network] * 2, GAME, device=torch.device("cpu"), max_batch=max_batch, caches=caches
    )


def policies(queries):
    return [query.probabilities(Rule.SOFTMAX) for query in queries]


@given(
    batches=st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=12), max_size=12),
    capacity=st.integers(1, 20),
)
def test_answers_are_those_of_the_network_whatever_was_asked_before(batches, capacity):
    network = Counting()
    plain, cached = evaluator(network), evaluator(network, PolicyCache(GAME, capacity))
    for batch in batches:
        expected, found = ([query(index) for index in batch] for _ in range(2))
        plain(expected)
        waiting = [each for each in found if not cached.answer(each)]
        if waiting:
            cached(waiting)
        for one, other in zip(policies(expected), policies(found), strict=True):
            assert dict(one) == pytest.approx(dict(other), abs=1e-5)
    assert len(cached.caches[0]) <= capacity


def test_equal_rows_of_a_batch_share_one_and_known_ones_need_none():
    network = Counting()
    cached = evaluator(network, PolicyCache(GAME, 100))
    same = [query(0) for _ in range(30)]
    cached(same)
    assert (cached.tally.batch_sizes, cached.tally.answered) == ([1], 29)
    assert cached.answer(query(0))
    cached([query(0), query(2)])
    assert (cached.tally.batch_sizes, cached.tally.answered) == ([1, 1], 31)
    cache = cached.caches[0]
    assert (cache.lookups, cache.hits, len(cache)) == (33, 31, 2)


def test_a_full_cache_keeps_what_it_has():
    cached = evaluator(Counting(), PolicyCache(GAME, 1))
    first, second = query(0), query(2)
    cached([first])
    cached([second])
    assert cached.answer(first)
    assert not cached.answer(second)


def test_a_failed_forward_leaves_no_answers_behind():
    fail = True

    def network(rows):
        if fail:
            raise RuntimeError("out of memory")
        return rows @ weights

    weights = Counting().weights
    cached = evaluator(network, PolicyCache(GAME, 100))
    with pytest.raises(RuntimeError, match="out of memory"):
        cached([query(0), query(2)])
    fail = False
    assert not cached.answer(query(2))
    one, expected = query(2), query(2)
    cached([one])
    evaluator(network)([expected])
    assert policies([one]) == policies([expected])


def test_each_player_has_a_cache_of_their_own():
    cached = evaluator(Counting(), PolicyCache(GAME, 10), PolicyCache(GAME, 10))
    cached([query(0)])
    assert [len(cache) for cache in cached.caches.values()] == [1, 0]


def test_a_cache_that_does_not_pay_is_given_up(monkeypatch):
    cached = evaluator(Counting(), PolicyCache(GAME, 1), max_batch=1)
    cache = cached.caches[0]
    cached([query(0)])
    while cache.lookups < policy_cache.TRIAL:
        assert cache.pays
        cached([query(2)])
    assert not cache.pays
    assert not cached.answer(query(0))
    assert not cached.caches


@pytest.mark.parametrize("driver", [{"type": "sync"}, {"type": "async", "concurrency": 16}])
@pytest.mark.parametrize("sampling", ["external", "outcome"])
async def test_a_cache_changes_no_sample(driver, sampling):
    one, other = [
        await digests(
            small_config(
                game="leduc_poker",
                solver__sampling={"type": sampling},
                inference__driver=driver,
                inference__cache=cache,
            )
        )
        for cache in (0, 1000)
    ]
    assert one == other


async def test_traversals_that_never_wait_still_share_the_loop():
    """In Kuhn poker twelve answers are all there are."""
    driver = {"type": "async", "concurrency": 8}
    async with Bystander() as bystander:
        await digests(small_config(solver__traversals=2000, inference__driver=driver))
    assert bystander.turns > 2000 * 2 * 3 / 8


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="capacity=0"):
        PolicyCache(GAME, 0)
    cache = PolicyCache(GAME, 4)
    with pytest.raises(ValueError, match="scratch: 3 floats"):
        cache.answer(query(0), np.empty(3, np.float32))
    with pytest.raises(ValueError, match="rows: 1x3"):
        cache.encode([query(0)], np.empty((1, 3), np.float32))
    rows = np.empty((1, GAME.information_state_tensor_size), np.float32)
    cache.encode([query(0)], rows)
    with pytest.raises(ValueError, match="outputs: 1x7"):
        cache.deliver([query(0)], np.empty((1, 7), np.float32))
