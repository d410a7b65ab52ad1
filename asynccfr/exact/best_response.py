"""Exact evaluation of a policy profile: values, best responses, NashConv, counterfactual regrets.

NashConv is the sum over the players of what each would gain by a best response; it is zero in a
Nash equilibrium and nowhere else. Exploitability is NashConv / 2 (Lanctot et al. 2019, OpenSpiel).
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from asynccfr.exact.policy import InformationStates, Policy, TabularPolicy
from asynccfr.exact.private_evaluation import PrivateEvaluation, private_size
from asynccfr.exact.sequence_form import MAX_HISTORIES, SequenceForm, sequence_form
from asynccfr.exact.values import NashConv as NashConv
from asynccfr.games.contract import Game


def nash_conv(
    game: Game,
    policy: Policy | npt.NDArray[np.floating],
    max_histories: int = MAX_HISTORIES,
) -> NashConv:
    """Evaluate a policy that plays for both players, exactly.

    `policy` is a function that is asked about many information states at once, or an array
    [I, num_actions] of probabilities in the order of `information_states(game)`.

    Games with private trees (phantom tic-tac-toe, dark hex, liar's dice) have no limit but memory,
    see `PrivateEvaluation`. Others are enumerated and remembered: another call takes a fraction of
    a millisecond for Leduc, plus the policy's time.
    Raises GameError as `sequence_form` and `SequenceForm.strategy` do, and where memory is short.
    """
    if private_size(game) is not None:
        return PrivateEvaluation(game).nash_conv(policy)
    tree = sequence_form(game, max_histories)
    return evaluate(tree, tree.strategy(policy))


def check_exact(game: Game, max_histories: int = MAX_HISTORIES) -> None:
    """Raises GameError, before any policy is asked, where `nash_conv` would for the game's sake."""
    if private_size(game) is None:
        sequence_form(game, max_histories)


def information_states(
    game: Game, max_histories: int = MAX_HISTORIES
) -> Iterator[InformationStates]:
    """Every information state of a game once, in batches, in the order of a policy's array.

    Raises GameError as `nash_conv` does.
    """
    if private_size(game) is not None:
        yield from PrivateEvaluation(game).information_states()
    else:
        yield sequence_form(game, max_histories).information_states


def evaluate(tree: SequenceForm, strategy: npt.NDArray[np.float64]) -> NashConv:
    """NashConv of the action probabilities `strategy` [S] on an enumerated game."""
    plan = tree.plan(strategy)
    _, value = tree.action_values(0, plan, strategy)
    _, best0 = tree.action_values(0, plan)
    _, best1 = tree.action_values(1, plan)
    return NashConv(best_response_values=(best0, best1), values=(value, -value))


def tabulate(game: Game, policy: Policy, max_histories: int = MAX_HISTORIES) -> TabularPolicy:
    """The answers of a policy at every information state, exactly as `nash_conv` sees them."""
    tree = sequence_form(game, max_histories)
    return tree.tabular_policy(tree.strategy(policy))


def best_response(tree: SequenceForm, policy: Policy) -> TabularPolicy:
    """The policy in which each player plays a pure best response to the other's `policy`."""
    plan = tree.plan(tree.strategy(policy))
    values = tree.action_values(0, plan)[0] + tree.action_values(1, plan)[0]
    best = np.where(tree.legal, tree.table(values), -np.inf).argmax(axis=1)
    return TabularPolicy(tree.keys, tree.players, np.eye(tree.game.num_actions)[best])


def counterfactual_regrets(tree: SequenceForm, policy: Policy) -> npt.NDArray[np.float64]:
    """Exact counterfactual regrets of a profile, [I, num_actions], zeros at illegal actions.

    The regret of an action is its counterfactual value less that of the player's mixture, both
    weighted with the reach of chance and the opponent (Zinkevich et al. 2007). Rows are in the
    order of `tree.keys`.
    """
    strategy = tree.strategy(policy)
    plan = tree.plan(strategy)
    return tree.table(tree.regrets(0, plan, strategy) + tree.regrets(1, plan, strategy))
