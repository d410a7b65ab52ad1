"""The async entrypoint: reports, resuming, cancelling, diverging, and what a run leaves behind."""

import asyncio
import threading
from contextlib import aclosing

import numpy as np
import pytest
from msgspec.structs import replace

import asynccfr
from asynccfr.agents import Agent
from asynccfr.errors import (
    CheckpointError,
    ConfigError,
    GameError,
    PlayerError,
    RunError,
    TrainingDiverged,
)
from asynccfr.reports import LOSSES
from asynccfr.runs import RunFolder
from asynccfr.training import Totals, train
from tests.bystander import Bystander

from .small import digests, essence, small_config


async def test_one_report_an_iteration():
    reports = [report async for report in train(small_config())]
    assert [report.iteration for report in reports] == [1, 2, 3]
    assert [report.evaluation == () for report in reports] == [True, True, False]
    assert reports[-1].nodes_total == sum(report.nodes for report in reports)
    for report in reports:
        assert report.inference.rows + report.inference.answered == report.nodes > 0
        assert report.inference.batch_max <= 512
    assert reports[-1].evaluation[0].b == "random"


async def test_every_loss_is_explained():
    learned = {"type": "learned", "fit": {"memory": 200, "steps": 15, "batch": 32}}
    sampling = {"type": "outcome", "epsilon": 0.6, "baseline": learned}
    *_, last = [report async for report in train(small_config(solver__sampling=sampling))]
    networks = {fit.network for fit in last.fits}
    assert networks == {"advantage", "baseline", "average strategy"} <= LOSSES.keys()


async def test_training_shares_the_event_loop():
    """Other tasks go on while it trains."""
    async with Bystander() as bystander:
        count = len(await digests(small_config()))
    assert bystander.turns > 10 * count


async def test_resuming_equals_training_in_one_go(tmp_path):
    whole = await digests(small_config(solver__iterations=4))
    with RunFolder.create(tmp_path / "run", small_config()).lock() as folder:
        await digests(folder.config, folder=folder)
    longer = small_config(solver__iterations=4)
    with RunFolder.open(tmp_path / "run").lock() as folder:
        folder.reconfigure(longer)
        await digests(longer, folder=folder)
        assert [report.sample_digest for report in folder.reports()] == whole


@pytest.mark.parametrize("phase", ["traverse", "advantage network of player 1", "against random"])
async def test_cancelling_stops_cleanly_and_resumes(tmp_path, phase):
    config = small_config(evaluation__every=2)
    whole = await digests(config)
    folder = RunFolder.create(tmp_path / "run", config)
    reports = []

    def interrupt(name, done, total):
        if name == phase and len(reports) == 1:
            loop.call_soon_threadsafe(task.cancel)

    async def follow():
        async with aclosing(train(config, folder=folder, progress=interrupt)) as iterator:
            async for report in iterator:
                reports.append(report)

    loop = asyncio.get_running_loop()
    with folder.lock():
        task = asyncio.create_task(follow())
        with pytest.raises(asyncio.CancelledError):
            await task
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others
        await digests(config, folder=folder)
        assert [report.sample_digest for report in folder.reports()] == whole


async def test_leaving_the_loop_early_leaves_nothing_running():
    async with aclosing(train(small_config())) as reports:
        async for _ in reports:
            break
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_saved_agent_plays_what_was_trained(tmp_path):
    config = small_config()
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder)
        agent = Agent.load(folder.agent)
    assert agent.card.game == str(agent.game)
    assert (agent.card.iterations, agent.card.seed) == (3, 0)
    from asynccfr.exact.best_response import nash_conv

    assert 0 < nash_conv(agent.game, agent.policy).nash_conv < 2


async def test_diverging_ends_with_the_cause_and_keeps_the_checkpoint(tmp_path):
    config = small_config(
        solver__advantage={"memory": 200, "steps": 200, "batch": 32, "learning_rate": 1e30}
    )
    with RunFolder.create(tmp_path / "run", small_config()).lock() as folder:
        await digests(small_config(), folder=folder)
        before = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    with pytest.raises(TrainingDiverged, match="advantage network of player 0.*learning_rate"):
        await digests(config)
    with RunFolder.open(tmp_path / "run").lock() as folder:
        after = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
        assert before == after
        assert folder.load_checkpoint(asynccfr.training.Totals).iteration == 3


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"game": "chess"}, GameError, "chess"),
        ({"evaluation__opponents": ["nobody"]}, PlayerError, "nobody"),
        ({"inference__device": "cuda:99"}, ConfigError, "CUDA devices found"),
    ],
)
async def test_bad_configurations_are_refused_before_any_work(changes, error, message):
    with pytest.raises(error, match=message):
        await digests(small_config(**changes))


async def test_a_checkpoint_of_another_network_is_refused(tmp_path):
    folder = RunFolder.create(tmp_path / "run", small_config())
    with folder.lock():
        await digests(folder.config, folder=folder)
        wider = small_config(
            solver__network={"type": "mlp", "width": 17, "depth": 2}, solver__iterations=4
        )
        with pytest.raises(RunError, match="solver.network.width"):
            await digests(wider, folder=folder)
        folder.config = wider
        with pytest.raises(CheckpointError):
            await digests(wider, folder=folder)


@pytest.mark.parametrize(
    ("lost", "cause"),
    [
        ("advantage_memory_0.values", "advantage_memory_0: reservoir column values is missing"),
        ("advantage_network_1.scale", "advantage_network_1: Error(s) in loading state_dict"),
        ("network_history.rows", "network_history: 'rows' is missing"),
    ],
)
async def test_a_checkpoint_that_does_not_fit_says_where_why_and_what_to_do(tmp_path, lost, cause):
    config = small_config(solver__average="sd_cfr")
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder)
        saved = folder.load_checkpoint(Totals)
        arrays = {name: array for name, array in saved.arrays.items() if name != lost}
        folder.save_checkpoint(replace(saved, arrays=arrays))
        with pytest.raises(CheckpointError) as raised:
            await digests(config, folder=folder)
    told = str(raised.value)
    assert told.startswith(f"{folder}: the checkpoint of iteration 3 does not fit: {cause}")
    assert "resume with the versions of asynccfr and of the game" in told


def test_an_agent_file_says_what_is_wrong(tmp_path):
    path = tmp_path / "agent.safetensors"
    with pytest.raises(CheckpointError, match="agent.safetensors"):
        Agent.load(path)
    path.write_bytes(b"not an agent")
    with pytest.raises(CheckpointError, match="not a readable agent"):
        Agent.load(path)
    from safetensors.numpy import save_file

    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(CheckpointError, match="not an agent of asynccfr"):
        Agent.load(path)


async def test_any_flipped_bit_in_an_agent_is_noticed(tmp_path):
    config = small_config()
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder)
    good = folder.agent.read_bytes()
    for position in np.random.default_rng(0).integers(len(good), size=100):
        damaged = bytearray(good)
        damaged[position] ^= 1
        folder.agent.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="agent.safetensors"):
            Agent.load(folder.agent)


async def test_a_run_with_nothing_left_to_do_still_makes_its_agent(tmp_path):
    folder = RunFolder.create(tmp_path / "run", small_config(solver__iterations=9))
    with folder.lock():
        async with aclosing(train(folder.config, folder=folder)) as reports:
            async for report in reports:
                if report.iteration == 3:
                    break
        assert not folder.agent.exists()
        shorter = small_config(solver__iterations=2)
        folder.reconfigure(shorter)
        assert await digests(shorter, folder=folder) == []
        assert Agent.load(folder.agent).card.iterations >= 2


async def test_a_folder_of_another_run_is_refused(tmp_path):
    folder = RunFolder.create(tmp_path / "run", small_config())
    with pytest.raises(RunError, match="seed"):
        await digests(small_config(seed=5), folder=folder)


async def test_exploding_losses_end_the_run():
    fit = {"memory": 200, "steps": 200, "batch": 32, "learning_rate": 1e3}
    with pytest.raises(TrainingDiverged, match="advantage network"):
        await digests(
            small_config(
                solver__advantage=fit, solver__network={"type": "mlp", "width": 64, "depth": 3}
            )
        )


async def test_parameters_that_are_no_numbers_end_the_run():
    fit = {"memory": 200, "steps": 2, "batch": 32, "learning_rate": 1e30}
    config = small_config(
        solver__average_strategy=fit,
        solver__network={"type": "mlp", "width": 8, "depth": 3},
        solver__iterations=1,
    )
    with pytest.raises(TrainingDiverged, match="average-strategy network"):
        await digests(config)


async def failing_match(*arguments):
    raise MemoryError("no room for a match")


@pytest.mark.parametrize("checkpoint_every", [1, 100])
async def test_a_failing_evaluation_loses_nothing(tmp_path, monkeypatch, checkpoint_every):
    config = small_config(evaluation__every=2, run={"checkpoint_every": checkpoint_every})
    expected = [report async for report in train(config)]
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        with monkeypatch.context() as patch:
            patch.setattr(asynccfr.training, "play_match", failing_match)
            with pytest.raises(MemoryError):
                await digests(config, folder=folder)
        assert folder.saved_iteration() == 2
        await digests(config, folder=folder)
        reports = folder.reports()
    assert list(map(essence, reports)) == list(map(essence, expected))


async def test_a_run_that_ended_without_its_evaluation_gets_it(tmp_path, monkeypatch):
    config = small_config()
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        with monkeypatch.context() as patch:
            patch.setattr(asynccfr.training, "play_match", failing_match)
            with pytest.raises(MemoryError):
                await digests(config, folder=folder)
        assert folder.reports()[-1].evaluation == ()
        assert await digests(config, folder=folder) == []
        assert folder.reports()[-1].evaluation[0].b == "random"


async def test_a_killed_evaluation_finds_its_iteration_saved(tmp_path):
    """What a process that dies while it evaluates leaves behind: the state when it begins."""
    config = small_config()
    saved = []

    def watch(phase, done, total):
        if phase == "against random":
            saved.append((folder.saved_iteration(), len(folder.reports())))

    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder, progress=watch)
    assert set(saved) == {(3, 3)}


async def test_leaving_between_two_iterations_saves_them(tmp_path):
    config = small_config(solver__iterations=4, run={"checkpoint_every": 100})
    whole = await digests(config)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        async with aclosing(train(config, folder=folder)) as reports:
            async for report in reports:
                if report.iteration == 2:
                    break
        assert folder.saved_iteration() == 2
        await digests(config, folder=folder)
        assert [report.sample_digest for report in folder.reports()] == whole


async def test_saving_leaves_the_event_loop_free(tmp_path, monkeypatch):
    threads = []
    save = RunFolder.save_checkpoint

    def watched(folder, checkpoint):
        threads.append(threading.current_thread())
        save(folder, checkpoint)

    monkeypatch.setattr(RunFolder, "save_checkpoint", watched)
    with RunFolder.create(tmp_path / "run", small_config()).lock() as folder:
        await digests(folder.config, folder=folder)
    assert len(threads) == 3
    assert threading.current_thread() not in threads


async def test_one_training_at_a_time_in_a_folder(tmp_path):
    config = small_config()
    folder = RunFolder.create(tmp_path / "run", config)
    async with aclosing(train(config, folder=folder)) as first:
        await anext(first)
        with pytest.raises(RunError, match="another train"):
            await digests(config, folder=folder)
        await anext(first)
    assert len(await digests(config, folder=folder)) == 1


async def test_fewer_iterations_than_are_saved_are_remarked_on(tmp_path, caplog):
    with RunFolder.create(tmp_path / "run", small_config()).lock() as folder:
        await digests(folder.config, folder=folder)
        assert not caplog.records
        shorter = small_config(solver__iterations=2)
        folder.reconfigure(shorter)
        assert await digests(shorter, folder=folder) == []
    assert "iteration 3 is saved already" in caplog.text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"iterations": 0}, "solver.iterations = 0"),
        ({"average": "sdcfr"}, "solver.average = 'sdcfr'"),
        ({"sampling": "external"}, "solver.sampling = 'external'"),
    ],
)
async def test_a_configuration_made_in_python_is_checked_too(tmp_path, changes, told):
    config = small_config()
    wrong = replace(config, solver=replace(config.solver, **changes))
    with pytest.raises(ConfigError, match=told):
        await digests(wrong)
    with pytest.raises(ConfigError, match=told):
        RunFolder.create(tmp_path / "run", wrong)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="expected a TrainConfig"):
        await digests({"game": "kuhn_poker"})
