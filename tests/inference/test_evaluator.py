"""Networks as a batch function: each player's own network, few shapes, right rows."""

import numpy as np
import pytest
import torch

from asynccfr.cfr.query import Query, deliver, encode
from asynccfr.cfr.regret_matching import Rule
from asynccfr.games import load_game
from asynccfr.inference.evaluator import BEGIN, DETERMINISTIC_ROWS, PHASES, Evaluator, padded
from asynccfr.inference.tally import Tally

GAME = load_game("leduc_poker")


class Recording:
    """A linear network that notes the shapes it was asked for."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        size = GAME.information_state_tensor_size
        self.weights = torch.randn(size, GAME.num_actions, generator=generator)
        self.shapes = []

    def __call__(self, rows):
        self.shapes.append(len(rows))
        return rows @ self.weights


def queries(count, player=0):
    found = []
    seed = 0
    while len(found) < count:
        state = GAME.new_state(seed)
        seed += 1
        while not state.is_terminal and len(found) < count:
            if state.current_player == player:
                found.append(Query(state.clone()))
            state.apply(state.legal_actions()[-1])
    return found


def evaluator(networks, max_batch=512, **options):
    return Evaluator(networks, GAME, device=torch.device("cpu"), max_batch=max_batch, **options)


def expected(query, network):
    row = torch.from_numpy(query.state.information_state_tensor(query.player))
    logits = (row @ network.weights)[query.state.legal_actions()]
    return torch.softmax(logits.double(), dim=0).tolist()


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("player", [0, 1])
def test_every_query_gets_its_own_row_of_its_players_network(player, deterministic):
    networks = [Recording(0), Recording(1)]
    asked = queries(130, player)
    assert evaluator(networks, deterministic=deterministic)(asked) is asked
    assert networks[1 - player].shapes == []
    for query in asked:
        policy = query.probabilities(Rule.SOFTMAX)
        assert [action for action, _ in policy] == query.state.legal_actions()
        assert [p for _, p in policy] == pytest.approx(expected(query, networks[player]), abs=1e-5)


@pytest.mark.parametrize(
    ("size", "shape"), [(1, 1), (2, 2), (3, 4), (33, 64), (64, 64), (65, 128), (500, 512)]
)
def test_batches_are_padded_to_few_shapes(size, shape):
    network = Recording(0)
    evaluator([network, network])(queries(size))
    assert network.shapes == [shape] == [padded(size)]


@pytest.mark.parametrize("size", [1, DETERMINISTIC_ROWS, DETERMINISTIC_ROWS + 1, 200])
def test_deterministic_forwards_have_one_shape(size):
    network = Recording(0)
    evaluator([network, network], deterministic=True)(queries(size))
    assert set(network.shapes) == {DETERMINISTIC_ROWS}


def test_it_tells_who_watches_of_every_phase():
    told = []
    networks = evaluator([Recording(0), Recording(1)], watch=told.append)
    networks(queries(5))
    networks(queries(7, player=1))
    assert told == 2 * [BEGIN, *PHASES]


def test_tallies_add_up():
    parts = [evaluator([Recording(0), Recording(1)]) for _ in range(2)]
    for part, sizes in zip(parts, ([3, 4], [10]), strict=True):
        for size in sizes:
            part(queries(size))
    report = Tally.total(part.tally for part in parts).report()
    assert (report.rows, report.batches, report.batch_max) == (17, 3, 10)
    assert report.forward_seconds == sum(part.tally.forward_seconds for part in parts)


def test_it_remembers_batch_sizes_and_time():
    networks = evaluator([Recording(0), Recording(1)])
    networks(queries(5))
    networks(queries(7))
    assert networks.tally.batch_sizes == [5, 7]
    assert networks.tally.forward_seconds > 0


def test_arrays_of_another_shape_are_refused():
    asked = queries(3)
    size = GAME.information_state_tensor_size
    with pytest.raises(ValueError, match="at least 3 rows"):
        encode(asked, np.zeros((2, size), np.float32))
    with pytest.raises(ValueError, match=f"rows of {size}"):
        encode(asked, np.zeros((3, size + 1), np.float32))
    with pytest.raises(ValueError, match=f"rows of {GAME.num_actions}"):
        deliver(asked, np.zeros((3, GAME.num_actions - 1), np.float32))
    with pytest.raises(TypeError):
        encode([object()], np.zeros((3, size), np.float32))


def test_a_query_needs_a_player_to_move():
    with pytest.raises(ValueError, match="player is to move"):
        Query(GAME.new_state())
