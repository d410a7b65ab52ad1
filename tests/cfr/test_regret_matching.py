"""From outputs to policies: regret matching with both fallbacks, and the masked softmax."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.cfr.regret_matching import Rule, policy_rows

ROWS = st.lists(
    st.tuples(st.floats(-1e3, 1e3, width=32), st.booleans()), min_size=1, max_size=8
).filter(lambda row: any(legal for _, legal in row))


def one(outputs, mask, rule):
    return policy_rows(
        np.array([outputs], dtype=np.float32), np.array([mask], dtype=np.uint8), rule
    )[0]


@given(ROWS, st.sampled_from(list(Rule)))
def test_policy_is_a_distribution_over_legal_actions(row, rule):
    outputs, mask = zip(*row, strict=True)
    policy = one(outputs, mask, rule)
    assert policy.sum() == pytest.approx(1.0)
    assert (policy >= 0).all()
    assert (policy[~np.array(mask)] == 0).all()


@given(ROWS, st.sampled_from(list(Rule)), st.floats(-1e3, 1e3, width=32))
def test_illegal_outputs_never_matter(row, rule, other):
    outputs, mask = zip(*row, strict=True)
    changed = [value if legal else other for value, legal in row]
    assert (one(outputs, mask, rule) == one(changed, mask, rule)).all()


def test_regret_matching_is_proportional_to_positive_advantages():
    policy = one([3.0, -2.0, 1.0, 9.0], [1, 1, 1, 0], Rule.REGRET_MATCHING_HIGHEST)
    assert policy == pytest.approx([0.75, 0, 0.25, 0])


def test_without_a_positive_advantage_the_highest_is_played_or_all_alike():
    outputs, mask = [-3.0, -1.0, -2.0, 5.0], [1, 1, 1, 0]
    assert one(outputs, mask, Rule.REGRET_MATCHING_HIGHEST) == pytest.approx([0, 1, 0, 0])
    uniform = one(outputs, mask, Rule.REGRET_MATCHING_UNIFORM)
    assert uniform == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_ties_for_the_highest_are_split():
    assert one([0.0, 0.0], [1, 1], Rule.REGRET_MATCHING_HIGHEST) == pytest.approx([0.5, 0.5])


def test_greedy_plays_the_highest_alone():
    assert one([1.0, 3.0, 2.0, 9.0], [1, 1, 1, 0], Rule.GREEDY) == pytest.approx([0, 1, 0, 0])


def test_softmax_survives_large_logits():
    policy = one([1000.0, 999.0, -1000.0], [1, 1, 1], Rule.SOFTMAX)
    assert policy == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0])


def test_a_row_without_legal_action_is_an_error():
    with pytest.raises(ValueError, match="no legal action"):
        one([1.0], [0], Rule.SOFTMAX)


def test_masks_of_another_shape_are_an_error():
    with pytest.raises(ValueError, match="expected 1x2"):
        one([1.0, 2.0], [1], Rule.SOFTMAX)
