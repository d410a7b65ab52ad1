"""What a user expects of `train`: what must fail fails first; leaving a loop leaves no trace."""

from functools import partial
from pathlib import Path

import pytest

from asynccfr.errors import ConfigError, GameError, RunError
from asynccfr.exact.best_response import check_exact
from asynccfr.games import PythonGame, load_game
from asynccfr.runs import RunFolder
from asynccfr.training import train
from tests.solvers.small import digests, small_config


async def test_a_game_may_be_given_by_name() -> None:
    config = small_config()
    expected = await digests(config)
    for game in ("kuhn_poker", "kuhn_poker()", load_game("kuhn_poker")):
        assert await digests(config, game=game) == expected
    with pytest.raises(ConfigError, match="config.game names 'kuhn_poker'"):
        await digests(config, game="leduc_poker")
    with pytest.raises(ConfigError, match="game=3: expected a Game, or the name of one"):
        await digests(config, game=3)
    with pytest.raises(GameError, match="kuhn_pocker"):
        await digests(config, game="kuhn_pocker")


async def test_a_game_is_the_same_however_its_name_is_written() -> None:
    config = small_config(game="lost_cities(hand_size=2,colors=2, numbers=3)")
    assert await digests(config, game=load_game(config.game))


@pytest.mark.parametrize("same_object", [True, False])
async def test_a_loop_that_was_left_is_no_training_any_more(
    tmp_path: Path, same_object: bool
) -> None:
    expected = await digests(small_config())
    folder = RunFolder.create(tmp_path / "run", small_config())
    async for report in train(folder.config, folder=folder):
        assert report.iteration == 1
        break
    again = folder if same_object else RunFolder.open(tmp_path / "run")
    async for report in train(folder.config, folder=again):
        assert report.iteration == 2
        break
    assert await digests(folder.config, folder=folder) == expected[2:]
    assert [report.sample_digest for report in folder.reports()] == expected


async def test_a_training_that_is_held_still_keeps_its_folder(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", small_config())
    held = train(folder.config, folder=folder)
    await anext(held)
    for other in (folder, RunFolder.open(folder.path)):
        with pytest.raises(RunError, match="train"):
            await digests(folder.config, folder=other)
    await held.aclose()
    assert len(await digests(folder.config, folder=folder)) == 2


class Three(PythonGame[tuple]):
    """Three players who choose once each."""

    def __init__(self) -> None:
        super().__init__(
            name="three",
            num_players=3,
            num_actions=2,
            information_state_tensor_size=1,
            min_utility=-1.0,
            max_utility=1.0,
        )


async def test_three_players_are_refused_first(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", small_config(game="three"))
    with pytest.raises(GameError, match="3 players; training and its matches need a game for two"):
        await digests(folder.config, game=Three(), folder=folder)
    assert sorted(path.name for path in folder.path.iterdir()) == ["config.yaml", "lock"]


async def test_a_game_too_large_to_evaluate_exactly_is_refused_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("asynccfr.training.check_exact", partial(check_exact, max_histories=1000))
    evaluation = {"deals": 10, "nash_conv_every": 2}
    config = small_config(game="lost_cities", evaluation=evaluation)
    told = r"evaluation\.nash_conv_every=2: lost_cities.*more than .*; set it to 0"
    with pytest.raises(GameError, match=told):
        await digests(config)
