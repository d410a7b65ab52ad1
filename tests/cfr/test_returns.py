"""Multi-step targets against their definitions, written without a backward recursion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.cfr.returns import action_value_targets, generalised_advantages


def random_games(rng, lengths, width=4):
    """Columns of random decisions of games with those numbers of decisions."""
    n = sum(lengths)
    policy = rng.dirichlet(np.ones(width), size=n).astype(np.float32)
    behaviour = 0.7 * policy + 0.3 / width
    chosen = np.array([rng.choice(width, p=row / row.sum()) for row in behaviour], dtype=np.int16)
    last = np.zeros(n, dtype=np.uint8)
    last[np.cumsum(lengths) - 1] = 1
    return {
        "values": rng.normal(size=(n, width)).astype(np.float32),
        "policy": policy,
        "chosen": chosen,
        "sampled": behaviour[np.arange(n), chosen].astype(np.float32),
        "players": rng.integers(0, 2, size=n).astype(np.int8),
        "last": last,
        "outcomes": np.where(last, rng.normal(size=n), 0).astype(np.float32),
    }


def games_of(columns):
    """The slices of whole games."""
    ends = np.flatnonzero(columns["last"]) + 1
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def expected_targets(game, trace):
    """Retrace as in Munos et al. (2016): q plus the discounted sum of later errors, signs told."""
    q, policy, chosen = game["values"], game["policy"], game["chosen"]
    n = len(chosen)
    rows = np.arange(n)
    picked, state = q[rows, chosen], (q * policy).sum(axis=1)
    ratios = trace * np.minimum(1, policy[rows, chosen] / game["sampled"])
    view = np.where(game["players"] == 0, 1.0, -1.0)
    # Everything from here on as player 0 sees it.
    following = np.append((view * state)[1:], view[-1] * game["outcomes"][-1])
    errors = following - view * picked
    targets = [
        view[t] * picked[t] + sum(np.prod(ratios[t + 1 : s + 1]) * errors[s] for s in range(t, n))
        for t in range(n)
    ]
    return view * targets


def expected_advantages(game, state, trace):
    """GAE as in Schulman et al. (2016): the sum of lambda^k times the k-th later error."""
    n = len(state)
    view = np.where(game["players"] == 0, 1.0, -1.0)
    following = np.append((view * state)[1:], view[-1] * game["outcomes"][-1])
    errors = following - view * state
    sums = [sum(trace ** (s - t) * errors[s] for s in range(t, n)) for t in range(n)]
    return view * sums


@given(st.integers(0, 2**32), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.floats(0, 1))
def test_kernels_match_their_definitions(seed, lengths, trace):
    columns = random_games(np.random.default_rng(seed), lengths)
    state = (columns["values"] * columns["policy"]).sum(axis=1).astype(np.float32)
    ends = [columns[name] for name in ("players", "last", "outcomes")]
    targets = action_value_targets(*columns.values(), trace)
    advantages = generalised_advantages(state, *ends, trace)
    for rows in games_of(columns):
        game = {name: column[rows] for name, column in columns.items()}
        assert targets[rows] == pytest.approx(expected_targets(game, trace), abs=1e-4)
        expected = expected_advantages(game, state[rows], trace)
        assert advantages[rows] == pytest.approx(expected, abs=1e-4)


def test_with_full_traces_on_policy_gae_is_the_outcome_minus_the_value():
    columns = random_games(np.random.default_rng(0), [5, 3])
    state = np.zeros(8, dtype=np.float32)
    ends = [columns[name] for name in ("players", "last", "outcomes")]
    advantages = generalised_advantages(state, *ends, 1.0)
    for rows in games_of(columns):
        same = columns["players"][rows] == columns["players"][rows][-1]
        outcome = columns["outcomes"][rows][-1]
        assert advantages[rows] == pytest.approx(np.where(same, outcome, -outcome))


@pytest.mark.parametrize("name", ["policy", "chosen", "sampled", "players", "last", "outcomes"])
def test_columns_of_different_lengths_are_refused(name):
    columns = random_games(np.random.default_rng(0), [4])
    columns[name] = columns[name][:-1].copy()
    with pytest.raises(ValueError, match="different lengths"):
        action_value_targets(*columns.values(), 0.9)


def test_games_that_are_cut_off_are_refused():
    columns = random_games(np.random.default_rng(0), [4])
    columns["last"][-1] = 0
    with pytest.raises(ValueError, match="cut off"):
        action_value_targets(*columns.values(), 0.9)


def test_no_decisions_have_no_targets():
    columns = {
        name: column[:0].copy()
        for name, column in random_games(np.random.default_rng(0), [1]).items()
    }
    assert len(action_value_targets(*columns.values(), 0.9)) == 0
