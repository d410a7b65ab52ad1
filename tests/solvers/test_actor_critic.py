"""The actor-critic solvers: what they learn, and that runs repeat, resume and agree."""

import asyncio

import numpy as np
import pytest
import torch

from asynccfr.agents import Agent
from asynccfr.config.files import resolve
from asynccfr.errors import CheckpointError, ConfigError, TrainingDiverged
from asynccfr.exact.best_response import counterfactual_regrets, nash_conv
from asynccfr.exact.policy import InformationStates, uniform
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import load_game
from asynccfr.reports import LOSSES
from asynccfr.runs import RunFolder
from asynccfr.solvers import make_solver
from asynccfr.solvers.actor_critic import ActorCriticSolver
from asynccfr.solvers.advantages import Lesson

from .small import digests

LOST_CITIES = "lost_cities(colors=2, numbers=3, wagers=1, hand_size=2)"
LEARNING = {"batch": 64, "epochs": 2, "learning_rate": 3e-3}
AVERAGE = {"type": "average_strategy", "memory": 10_000, "steps": 100, "batch": 64}
ESCHER = {"type": "escher", "memory": 10_000, "steps": 20, "batch": 64, "learning_rate": 3e-3}
REGRETS = {"type": "regret_actor_critic", "strategy": {"type": "regret_matching"}}
SOLVERS = {
    "regret matching": REGRETS,
    "RM+": REGRETS | {"strategy": {"type": "regret_matching", "plus": True}},
    "escher": REGRETS | {"strategy": ESCHER, "exploration": 0, "correction": 3, "agent": AVERAGE},
    "average strategy": REGRETS | {"agent": AVERAGE},
    "all-actions gradient": REGRETS | {"strategy": {"type": "q_policy_gradient"}},
    "ppo": {"type": "ppo"},
    "all-actions gradient, shares": REGRETS
    | {
        "strategy": {"type": "q_policy_gradient"},
        "policy_learning": LEARNING | {"share": 0.4},
        "critic_learning": LEARNING | {"share": 0.5},
    },
}


def small(solver, game="kuhn_poker", driver=None, **fields):
    """Three iterations of 40 games."""
    common = {
        "iterations": 3,
        "games": 40,
        "network": {"type": "mlp", "width": 16, "depth": 2},
        "policy_learning": LEARNING if solver != "escher" else {},
        "critic_learning": LEARNING,
    }
    return resolve(
        {
            "game": game,
            "solver": {**common, **SOLVERS[solver], **fields},
            "inference": {
                "device": "cpu",
                "deterministic": True,
                "threads": 1,
                "driver": driver or {"type": "async", "concurrency": 16},
            },
            "evaluation": {"deals": 10, "opponents": ["random"]},
        }
    )


def no_progress(phase, done, total):
    pass


def solver_of(config):
    return make_solver(config, load_game(config.game))


@pytest.mark.parametrize("solver", SOLVERS)
async def test_drivers_change_nothing(solver):
    drivers = [{"type": "sync"}, {"type": "async", "concurrency": 7, "max_batch": 5}, None]
    runs = [await digests(small(solver, LOST_CITIES, driver)) for driver in drivers]
    assert runs[0] == runs[1] == runs[2]
    assert len(set(runs[0])) == 3


@pytest.mark.parametrize("solver", SOLVERS)
async def test_resuming_equals_training_in_one_go(tmp_path, solver):
    whole = await digests(small(solver, iterations=5))
    with RunFolder.create(tmp_path / "run", small(solver)).lock() as folder:
        await digests(folder.config, folder=folder)
    longer = small(solver, iterations=5)
    with RunFolder.open(tmp_path / "run").lock() as folder:
        folder.reconfigure(longer)
        await digests(longer, folder=folder)
        assert [report.sample_digest for report in folder.reports()] == whole


async def test_a_resumed_run_may_cut_its_schedule_short(tmp_path):
    """Another `anneal` acts from the next iteration on, and on nothing before."""
    config = small("ppo", anneal=100)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        before = await digests(config, folder=folder)
        shorter = small("ppo", anneal=5, iterations=6)
        folder.reconfigure(shorter)
        await digests(shorter, folder=folder)
        cut = [report.sample_digest for report in folder.reports()]
    as_planned = await digests(small("ppo", anneal=100, iterations=6))
    assert cut[:3] == before == as_planned[:3]
    assert cut[3] == as_planned[3]
    assert cut[5] != as_planned[5]


async def test_a_resumed_run_may_learn_otherwise(tmp_path):
    config = small("ppo")
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder)
        slower = small("ppo", iterations=6, policy_learning=LEARNING | {"learning_rate": 1e-4})
        folder.reconfigure(slower)
        await digests(slower, folder=folder)
        changed = [report.sample_digest for report in folder.reports()]
    as_planned = await digests(small("ppo", iterations=6))
    assert changed[:4] == as_planned[:4]
    assert changed[4] != as_planned[4]


async def test_a_schedule_of_ones_own():
    """Such as the time that is left; beyond its end, rates stay at a tenth."""
    config = small("ppo")
    game = load_game(config.game)
    shares = {1: 0.0, 2: 0.5, 3: 7.0}
    trained = ActorCriticSolver(
        config.solver, config.inference, game, config.seed, schedule=shares.__getitem__
    )
    rates = []
    for iteration in shares:
        await trained.iterate(iteration, no_progress)
        rates.append(trained.policy.adam.learning_rate / LEARNING["learning_rate"])
    assert rates == pytest.approx([1, 0.55, 0.1])


@pytest.mark.parametrize("solver", ["regret matching", "average strategy"])
async def test_restored_solvers_make_the_same_agent(solver):
    first, second = (solver_of(small(solver)) for _ in range(2))
    for iteration in (1, 2):
        await first.iterate(iteration, no_progress)
    second.restore({name: column.copy() for name, column in first.columns().items()})
    agents = [(await each.make_agent(2, 0, no_progress))[0] for each in (first, second)]
    parameters = [agent.network.state_dict() for agent in agents]
    assert all(torch.equal(value, parameters[1][name]) for name, value in parameters[0].items())


def test_parts_of_another_shape_are_refused():
    solver = solver_of(small("regret matching"))
    columns = solver.columns()
    columns["critic.adam.means.0"] = columns["critic.adam.means.0"][:1]
    with pytest.raises(
        CheckpointError, match=r"critic: adam\.means\.0: shape \[1, .*expected \[16"
    ):
        solver.restore(columns)


@pytest.mark.parametrize("solver", SOLVERS)
async def test_every_loss_is_explained(solver):
    learning = solver_of(small(solver))
    done = await learning.iterate(1, no_progress)
    _, fits = await learning.make_agent(1, done.nodes, no_progress)
    assert {fit.network for fit in (*done.fits, *fits)} <= LOSSES.keys()


async def test_play_starts_uniform_and_explores():
    solver = solver_of(small("regret matching", exploration=0.5))
    behaviour = solver.improvement.behaviour
    played = await solver.self_play.play(solver.policy.network, behaviour, 1, no_progress)
    assert (played.decisions.policy == 0.5).all()
    assert (played.decisions.sampled == 0.5).all()
    with torch.no_grad():
        solver.policy.network.biases[-1].copy_(torch.tensor([1.0, -1.0]))
    played = await solver.self_play.play(solver.policy.network, behaviour, 1, no_progress)
    chance = np.where(played.decisions.chosen == 0, 0.75, 0.25)
    assert played.decisions.sampled == pytest.approx(chance)


async def test_one_seat_explores_whatever_it_has_learned():
    """Kuhn poker in which everybody would bet: the explorer passes half the time all the same."""
    solver = solver_of(small("escher", games=400))
    with torch.no_grad():
        solver.policy.network.biases[-1].copy_(torch.tensor([-1.0, 1.0]))
    played = await decisions_of(solver, 1)
    explores = played.explores == 1
    assert (played.sampled[explores] == 0.5).all()
    assert (played.sampled[~explores] == 1).all()
    assert (played.policy == [0, 1]).all()
    opening = np.append(True, played.last[:-1] == 1)
    explored = explores & opening
    assert (opening.sum(), explored.sum()) == (400, 200)
    assert 0.4 < (played.chosen[explored] == 0).mean() < 0.6


async def decisions_of(solver, iteration):
    behaviour = solver.improvement.behaviour
    network = solver.policy.network
    return (await solver.self_play.play(network, behaviour, iteration, no_progress)).decisions


async def lesson_of(solver, played, iteration):
    experience = solver.experience(played)
    values = await solver.values(experience, iteration)
    targets = solver.improvement.targets(experience, values)
    return Lesson(experience, values, targets, iteration, 0.0)


async def test_regrets_come_from_the_explorer_and_policies_from_the_other():
    solver = solver_of(small("escher", games=100))
    for iteration in (1, 2):
        await solver.iterate(iteration, no_progress)
    played = await decisions_of(solver, 3)
    regrets, policies = solver.improvement.memory, solver.memory
    before = len(regrets), len(policies)
    lesson = await lesson_of(solver, played, 3)
    await solver.learn(lesson.experience, 3, no_progress)
    explored, others = np.flatnonzero(played.explores), np.flatnonzero(played.explores == 0)
    new = added(regrets, before[0])
    assert np.array_equal(new["features"], played.features[explored])
    assert np.array_equal(new["values"], solver.improvement.regrets(lesson)[explored])
    assert (new["weights"] == 1).all()
    assert (new["iterations"] == 3).all()
    new = added(policies, before[1])
    assert np.array_equal(new["features"], played.features[others])
    assert np.array_equal(new["values"], played.policy[others])
    assert (new["weights"] == 1).all()


def added(memory, before):
    columns = memory.columns()
    return {name: columns[name][before:] for name in columns if name != "seen"}


async def test_the_explorers_mean_advantages_are_counterfactual_regrets():
    """Of uniform play, up to the explorer's own reach; with a critic that knows nothing."""
    solver = solver_of(small("escher", games=20_000, trace=1, driver={"type": "async"}))
    tree = sequence_form(solver.game)
    played = await decisions_of(solver, 1)
    advantages = solver.improvement.regrets(await lesson_of(solver, played, 1))
    states = tree.information_states
    exact = counterfactual_regrets(tree, uniform)
    for i, regrets in enumerate(exact):
        here = (played.features == states.tensors[i]).all(axis=1) & (played.explores == 1)
        reach = 0.5 if len(tree.keys[i]) == 5 else 1.0  # a second decision
        found = advantages[here].sum(axis=0) / 10_000
        assert found == pytest.approx(reach * regrets, abs=0.05)


async def test_the_critic_sees_both_hands():
    """It foretells how an action ends the game, which in Kuhn poker no player can."""
    solver = solver_of(small("regret matching", games=500, exploration=0.5))
    for iteration in range(1, 13):
        await solver.iterate(iteration, no_progress)
    behaviour = solver.improvement.behaviour
    played = await solver.self_play.play(solver.policy.network, behaviour, 13, no_progress)
    values = await solver.values(solver.experience(played.decisions), 13)
    ended = played.decisions.last == 1
    foretold = values[ended, played.decisions.chosen[ended]]
    outcomes = played.decisions.outcomes[ended]
    assert np.square(foretold - outcomes).mean() < 0.05 * outcomes.var()


async def test_the_average_of_regret_matching_comes_near_an_equilibrium():
    """Kuhn poker, where uniform play has a NashConv of 0.917, and the last iterate is no better."""
    trained = solver_of(small("escher", games=200, anneal=100, agent=AVERAGE | {"steps": 400}))
    for iteration in range(1, 41):
        await trained.iterate(iteration, no_progress)
    agent, _ = await trained.make_agent(40, 0, no_progress)
    assert nash_conv(trained.game, agent.policy).nash_conv < 0.3


@pytest.mark.parametrize("solver", ["average strategy", "ppo"])
async def test_learning_beats_uniform_play(solver):
    """A few seconds of Kuhn poker, where uniform play has a NashConv of 0.917."""
    fields = {"exploration": 0.4} if solver != "ppo" else {}
    if solver == "average strategy":
        fields["strategy"] = {"type": "regret_matching", "least_weight": 0}
    trained = solver_of(small(solver, games=300, anneal=20, **fields))
    for iteration in range(1, 21):
        await trained.iterate(iteration, no_progress)
    agent, _ = await trained.make_agent(20, 0, no_progress)
    assert nash_conv(trained.game, agent.policy).nash_conv < 0.7


@pytest.mark.parametrize("learner", ["policy", "critic"])
async def test_diverging_ends_the_run(learner):
    fields = {f"{learner}_learning": LEARNING | {"learning_rate": 1e30, "max_gradient_norm": 1e30}}
    name = "advantage" if learner == "policy" else "critic"
    with pytest.raises(TrainingDiverged, match=f"{name} network.*learning_rate"):
        await digests(small("regret matching", **fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"exploration": 1.5}, "solver.exploration"),
        ({"strategy": {"type": "softmax"}}, "one of regret_matching, escher, q_policy_gradient"),
        ({"strategy": {"type": "escher", "plus": True}}, "it needs type: regret_matching"),
        ({"games": 0}, "solver.games"),
        ({"agent": {"type": "average"}}, "one of last_iterate, average_strategy"),
    ],
)
def test_bad_fields_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        small("regret matching", **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"games": 41}, r"solver\.games: 41.*even number"),
        ({"policy_learning": LEARNING}, r"solver\.policy_learning: not used by strategy escher"),
    ],
)
def test_escher_refuses_what_it_cannot_use(fields, message):
    with pytest.raises(ConfigError, match=message):
        solver_of(small("escher", **fields))


async def test_drivers_with_processes_are_refused():
    with pytest.raises(ConfigError, match=r"inference\.driver.*sync or async"):
        await digests(small("regret matching", driver={"type": "server"}))


async def test_cancelling_stops_both_learners():
    config = small("regret matching", games=400)
    solver = solver_of(config)
    learning = asyncio.Event()
    loop = asyncio.get_running_loop()

    def progress(phase, done, total):
        if phase == "critic network":
            loop.call_soon_threadsafe(learning.set)

    task = asyncio.create_task(solver.iterate(1, progress))
    await learning.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("solver", ["regret matching", "ppo"])
async def test_a_greedy_agent_plays_its_likeliest_actions(solver):
    tree = sequence_form(load_game("kuhn_poker"))
    states = InformationStates.of([tree.state(i) for i in range(len(tree.keys))])
    policies = []
    for greedy in (False, True):
        trained = solver_of(small(solver, agent={"type": "last_iterate", "greedy": greedy}))
        await trained.iterate(1, no_progress)
        agent, _ = await trained.make_agent(1, 0, no_progress)
        policies.append(agent.policy(states))
    assert np.array_equal(policies[1], policies[0] == policies[0].max(axis=1, keepdims=True))


async def test_the_saved_agent_plays_without_exploring(tmp_path):
    solver = solver_of(small("all-actions gradient", exploration=0.5))
    await solver.iterate(1, no_progress)
    agent, fits = await solver.make_agent(1, 99, no_progress)
    path = tmp_path / "agent.safetensors"
    path.write_bytes(agent.save_bytes())
    loaded = Agent.load(path)
    assert fits == ()
    assert (loaded.card.iterations, loaded.card.nodes, loaded.card.rule) == (1, 99, "softmax")
    for mine, its in zip(
        solver.policy.network.parameters(), loaded.network.parameters(), strict=True
    ):
        assert torch.equal(mine, its)
