"""The benchmark of ablations: what its changed solvers change, and that it tells what it ran."""

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from asynccfr.games import load_game
from asynccfr.networks import InferenceCopy
from benchmarks.ablations import (
    ARMS,
    SMALL,
    Arm,
    Augmented,
    BlindCritic,
    Record,
    configuration,
    main,
)


async def played(kind, arm=ARMS[0]):
    """A solver after an iteration, and the decisions of another."""
    config = configuration(arm, SMALL, 2, 4, seed=0)
    solver = kind(config.solver, config.inference, load_game(config.game), config.seed)
    await solver.iterate(1, lambda *progress: None)
    games = await solver.self_play.play(
        solver.policy.network, solver.improvement.behaviour, 2, lambda *progress: None
    )
    return solver, games.decisions


def outputs(solver, experience):
    """What both networks say about the legal actions of every decision, 0 where there are fewer."""
    seen = InferenceCopy(solver.policy.network)
    everything = InferenceCopy(solver.critic.network)
    legal = experience.legal.numpy()
    return (
        legal * experience.answers(seen, experience.seen),
        legal * experience.answers(everything, experience.seen, experience.hidden),
    )


async def test_exchanged_colours_mean_the_same():
    solver, decisions = await played(Augmented)
    exchanged = solver.experience(decisions)
    plain = super(Augmented, solver).experience(decisions)
    assert not np.array_equal(exchanged.decisions.features, decisions.features)
    for ours, theirs in zip(outputs(solver, exchanged), outputs(solver, plain), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


async def test_a_blind_critic_sees_one_hand():
    solver, decisions = await played(BlindCritic)
    experience = solver.experience(decisions)
    rows = experience.rows(experience.seen, experience.hidden)
    size = solver.game.information_state_tensor_size
    assert rows[:, :size].any()
    assert not rows[:, size:].any()


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_arms_are_configurations(arm: Arm):
    settings = configuration(arm, SMALL, 7, 5, seed=3).solver
    assert (settings.iterations, settings.anneal, settings.games) == (7, 7, 5)


def test_it_tells_what_it_ran(tmp_path):
    options = ["--iterations=1", "--games=4", "--deals=4", "--seeds=2", "--only=hidden"]
    where = tmp_path / "record.json"
    run = CliRunner().invoke(main, [*options, "--json", str(where), "--plots", str(tmp_path)])
    assert run.exit_code == 0, run.output
    record = msgspec.json.decode(where.read_bytes(), type=Record)
    arms = ["base", "critic without the hidden cards"]
    assert [(o.arm, o.seed) for o in record.outcomes] == [(a, s) for s in (0, 1) for a in arms]
    assert all((o.against_base is None) == (o.arm == "base") for o in record.outcomes)
    assert (tmp_path / "ablations.png").stat().st_size > 1000
