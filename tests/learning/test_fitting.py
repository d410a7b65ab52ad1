"""Fits: the right minimiser, legal actions only, reproducible, stoppable, loud in divergence."""

import asyncio
import threading

import numpy as np
import pytest
import torch

from asynccfr.config import Fit, MultilayerPerceptron
from asynccfr.errors import ConfigError, TrainingDiverged
from asynccfr.learning.fitting import fit_advantage, fit_average_strategy
from asynccfr.learning.reservoir import Reservoir, Samples
from asynccfr.networks import MLP, build_network, masked_log_softmax
from asynccfr.reports import FitReport
from asynccfr.seeding import Rng

STATES, ACTIONS = 4, 5
FIT = Fit(steps=150, batch=256, learning_rate=0.03, max_gradient_norm=10.0)


def network(seed: int = 0) -> MLP:
    built = build_network(MultilayerPerceptron(width=16, depth=1), STATES, ACTIONS, Rng(seed))
    assert isinstance(built, MLP)
    return built


def reservoir(*rows: tuple[int, dict[int, float], float, int]) -> Reservoir:
    """A reservoir of rows (one-hot state, values of its legal actions, weight, iteration)."""
    held = Reservoir(100_000, tensor_size=STATES, max_legal_actions=ACTIONS, tensor_quantum=1.0)
    for state, values, weight, iteration in rows:
        padding = ACTIONS - len(values)
        block = Samples(
            np.eye(STATES, dtype=np.uint8)[[state]],
            np.array([[*values, *[-1] * padding]], np.int16),
            np.array([[*values.values(), *[0.0] * padding]], np.float32),
            np.array([weight], np.float32),
        )
        held.extend(block, iteration, np.random.default_rng(0))
    return held


def random_rows(n: int) -> list[tuple[int, dict[int, float], float, int]]:
    """Noisy values of unequal weights; state s allows the actions other than s."""
    rng = np.random.default_rng(1)
    return [
        (
            state,
            {a: float(rng.normal(a - 2 * state, 0.4)) for a in range(ACTIONS) if a != state},
            float(rng.exponential()),
            int(rng.integers(1, 10)),
        )
        for state in rng.integers(STATES, size=n)
    ]


def predictions(fitted: MLP) -> torch.Tensor:
    """The advantages [STATES, ACTIONS] in points."""
    return (fitted(torch.eye(STATES)) * fitted.scale).detach()


def strategies(fitted: MLP, *legal: int) -> torch.Tensor:
    mask = torch.zeros(STATES, ACTIONS, dtype=torch.bool)
    mask[:, list(legal)] = True
    return masked_log_softmax(fitted(torch.eye(STATES)), mask).exp().detach()


def test_advantages_converge_to_the_weighted_least_squares_solution() -> None:
    rows = random_rows(40)
    fitted = network()
    slow = Fit(steps=300, batch=512, learning_rate=0.01, max_gradient_norm=10.0)
    fit_advantage(fitted, reservoir(*rows), slow, Rng(1))
    for state in range(STATES):
        here = [row for row in rows if row[0] == state]
        weights = [weight * iteration for _, _, weight, iteration in here]
        for action in set(range(ACTIONS)) - {state}:
            exact = np.average([row[1][action] for row in here], weights=weights)
            assert predictions(fitted)[state, action].item() == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(("weights", "iterations"), [((1, 1), (1, 3)), ((1, 3), (1, 1))])
def test_a_sample_counts_in_proportion_to_its_iteration_and_to_its_weight(
    weights: tuple[float, float],
    iterations: tuple[int, int],
    merged: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not merged:
        monkeypatch.setattr("asynccfr.learning.fitting.MergedSamples.of", lambda *_: None)
    advantages, average = network(), network()
    (w, v), (s, t) = weights, iterations
    fit_advantage(advantages, reservoir((0, {1: 0.0}, w, s), (0, {1: 4.0}, v, t)), FIT, Rng(1))
    assert predictions(advantages)[0, 1].item() == pytest.approx(3, abs=0.15)
    contradictory = reservoir((0, {1: 1.0, 2: 0.0}, w, s), (0, {1: 0.0, 2: 1.0}, v, t))
    fit_average_strategy(average, contradictory, FIT, Rng(1))
    assert strategies(average, 1, 2)[0, 2].item() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize("fit", [fit_advantage, fit_average_strategy])
def test_outputs_of_illegal_actions_are_never_fitted(fit) -> None:
    """Action 0 is what padding points to; here it is never legal, like action 4."""
    fitted = network()
    with torch.no_grad():
        fitted.biases[-1].fill_(3.0)
    before = predictions(fitted)
    fit(fitted, reservoir((0, {1: 0.25, 3: 0.75}, 1, 1), (1, {2: 1.0}, 1, 1)), FIT, Rng(1))
    after = predictions(fitted)
    assert torch.allclose(after[:, [0, 4]], before[:, [0, 4]])
    assert not torch.allclose(after[:, [1, 2, 3]], before[:, [1, 2, 3]])


def test_an_action_is_not_drawn_to_zero_by_states_where_it_is_illegal() -> None:
    """One state, in which action 1 is legal once and illegal nine times."""
    rows = [(0, {1: 8.0, 2: -8.0}, 1.0, 1)] + [(0, {2: -8.0}, 1.0, 1)] * 9
    fitted = network()
    fit_advantage(fitted, reservoir(*rows), FIT, Rng(1))
    assert predictions(fitted)[0, 1].item() == pytest.approx(8, abs=0.2)


def test_the_softmax_of_the_average_strategy_is_over_legal_actions_only() -> None:
    """Legal or not, actions 0 to 4 have logits; the fit must get 0.9 without moving the others."""
    fitted = network()
    with torch.no_grad():
        fitted.biases[-1].copy_(torch.tensor([50.0, 0.0, 0.0, 50.0, 50.0]))
    fit_average_strategy(fitted, reservoir((0, {1: 0.9, 2: 0.1}, 1, 1)), FIT, Rng(1))
    assert strategies(fitted, 1, 2)[0, 1].item() == pytest.approx(0.9, abs=0.02)
    assert torch.equal(fitted.biases[-1][[0, 3, 4]].detach(), torch.full((3,), 50.0))


def test_neither_the_unit_of_the_game_nor_that_of_the_weights_matters() -> None:
    rows = random_rows(50)
    changed = [
        (state, {action: 1024 * value for action, value in values.items()}, weight / 64, iteration)
        for state, values, weight, iteration in rows
    ]
    one, other = network(), network()
    short = Fit(steps=50, batch=64)
    fit_advantage(one, reservoir(*rows), short, Rng(1))
    fit_advantage(other, reservoir(*changed), short, Rng(1))
    assert torch.equal(predictions(other), 1024 * predictions(one))


def test_the_advantage_loss_is_one_for_a_network_that_predicts_zero() -> None:
    barely = Fit(steps=20, batch=4096, learning_rate=1e-12)
    report = fit_advantage(network(), reservoir(*random_rows(300)), barely, Rng(1))
    assert report.loss_last == pytest.approx(1, abs=0.05)


def test_regrets_that_are_all_zero_are_learnt() -> None:
    fitted = network()
    report = fit_advantage(fitted, reservoir((0, {1: 0.0, 2: 0.0}, 1, 1)), FIT, Rng(1))
    assert report.loss_last == 0
    assert not predictions(fitted).any()


def test_a_warm_start_goes_on_and_a_new_network_begins_at_zero() -> None:
    first = reservoir((0, {1: 8.0, 2: -2.0}, 1, 1))
    later = reservoir((0, {1: 8.0, 2: -2.0}, 1, 1), (1, {1: 100.0}, 1, 2))
    warm, fresh, one_step = network(), network(2), Fit(steps=1, batch=64, learning_rate=1e-3)
    fit_advantage(warm, first, FIT, Rng(1))
    fit_advantage(warm, later, one_step, Rng(1))
    fit_advantage(fresh, later, one_step, Rng(1))
    assert warm.scale > 50
    assert predictions(warm)[0, 1:3].tolist() == pytest.approx([8, -2], abs=1)
    assert predictions(fresh)[0].abs().max() < 1


@pytest.mark.parametrize("fit", [fit_advantage, fit_average_strategy])
def test_equal_seeds_give_identical_parameters(fit) -> None:
    held = reservoir(*random_rows(100))
    short = Fit(steps=30, batch=2)

    def fitted(seed: int) -> MLP:
        result = network()
        fit(result, held, short, Rng(seed))
        return result

    torch.manual_seed(1)
    one = fitted(7)
    torch.manual_seed(2)
    state = torch.get_rng_state()
    same, other = fitted(7), fitted(8)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.weights[-1], other.weights[-1])


def test_bfloat16_fits_too_and_leaves_float32_parameters() -> None:
    fitted = network()
    report = fit_advantage(
        fitted, reservoir((0, {1: 3.0, 2: -1.0}, 1, 1)), FIT, Rng(1), dtype=torch.bfloat16
    )
    assert report.loss_last < 1e-3
    assert predictions(fitted)[0, 1:3].tolist() == pytest.approx([3, -1], abs=0.1)
    assert {parameter.dtype for parameter in fitted.parameters()} == {torch.float32}


def test_progress_is_reported_as_the_fit_goes() -> None:
    calls: list[tuple[int, float]] = []
    report = fit_advantage(
        network(),
        reservoir((0, {1: 3.0, 2: -1.0}, 1, 1)),
        Fit(steps=50, batch=32, learning_rate=0.01),
        Rng(1),
        on_step=lambda step, loss: calls.append((step, loss)),
    )
    assert [step for step, _ in calls] == [20, 40, 50]
    assert calls[0][1] > calls[1][1] > calls[2][1] >= report.loss_last
    assert report.loss_first > calls[0][1]
    assert (report.samples, report.steps) == (1, 50)
    assert report.seconds > 0


@pytest.mark.parametrize("fit", [fit_advantage, fit_average_strategy])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_samples_that_are_not_finite_stop_the_fit_at_once(fit, value: float) -> None:
    rows = [*random_rows(1000), (0, {1: value}, 1.0, 1)]
    fitted = network()
    with pytest.raises(TrainingDiverged, match="net of player 1: the reservoir holds"):
        fit(fitted, reservoir(*rows), FIT, Rng(1), name="net of player 1")
    assert not predictions(fitted).any()


@pytest.mark.parametrize("fit", [fit_advantage, fit_average_strategy])
def test_an_exploding_loss_stops_the_fit_promptly(fit) -> None:
    calls: list[int] = []
    with pytest.raises(TrainingDiverged, match=r"net: the loss is \S+ after 20 steps.*lower"):
        fit(
            network(),
            reservoir((0, {1: 1.0, 2: 0.0}, 1, 1)),
            Fit(steps=1000, batch=32, learning_rate=1e30),
            Rng(1),
            name="net",
            on_step=lambda step, loss: calls.append(step),
        )
    assert calls == []


@pytest.mark.parametrize("fit", [fit_advantage, fit_average_strategy])
def test_an_empty_reservoir_is_an_error(fit) -> None:
    way_out = r"raise solver\.traversals or, in self-play, solver\.games"
    with pytest.raises(ConfigError, match=f"network: no samples .*{way_out}"):
        fit(network(), reservoir(), FIT, Rng(1))


def test_a_fit_told_to_stop_before_it_starts_changes_nothing() -> None:
    stop, fitted = threading.Event(), network()
    stop.set()
    report = fit_advantage(fitted, reservoir(*random_rows(10)), FIT, Rng(1), stop=stop)
    assert report.steps == 0
    assert not predictions(fitted).any()


async def test_a_fit_in_a_thread_ends_soon_after_it_is_told_to_stop() -> None:
    stop, stepped = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    endless = Fit(steps=10**9, batch=32)

    def tell(step: int, loss: float) -> None:
        loop.call_soon_threadsafe(stepped.set)

    def fit() -> FitReport:
        return fit_advantage(
            network(),
            reservoir(*random_rows(10)),
            endless,
            Rng(1),
            stop=stop,
            on_step=tell,
        )

    fitting = asyncio.create_task(asyncio.to_thread(fit))
    await asyncio.wait_for(stepped.wait(), 60)
    stop.set()
    report = await asyncio.wait_for(fitting, 60)
    assert 20 <= report.steps < endless.steps
