"""Training a game of the user's own, and what a file of a stranger may not do."""

import sys

import msgspec
import pytest

from asynccfr.agents import Agent
from asynccfr.errors import ConfigError, GameError, PlayerError
from asynccfr.games import configured_game, load_game, python
from asynccfr.players import make_player
from asynccfr.runs import RunFolder

from .small import digests, small_config

MODULE = "games_of_mine"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The example of the documentation, as a module in the current folder."""
    text = python.__doc__
    begin, end = text.index("    from asynccfr"), text.index("With chance")
    lines = [line.removeprefix("    ") for line in text[begin:end].splitlines()]
    (tmp_path / f"{MODULE}.py").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield MODULE
    sys.modules.pop(MODULE, None)


async def test_a_configuration_names_it_and_the_run_resumes(module, tmp_path):
    config = small_config(game=f"{module}:RockPaperScissors")
    whole = await digests(config)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        two = msgspec.structs.replace(
            config, solver=msgspec.structs.replace(config.solver, iterations=2)
        )
        await digests(two, folder=folder)
    with RunFolder.open(tmp_path / "run").lock() as folder:
        await digests(folder.config, folder=folder)
        assert [report.sample_digest for report in folder.reports()] == whole


async def test_an_object_may_be_given(module):
    game = configured_game(f"{module}:RockPaperScissors")
    assert len(await digests(small_config(game=str(game)), game=game)) == 3
    with pytest.raises(ConfigError, match=r"config.game names 'kuhn_poker'"):
        await digests(small_config(), game=game)


async def test_a_saved_agent_imports_nothing(module, tmp_path):
    name = f"{module}:RockPaperScissors"
    config = small_config(game=name)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder)
    game = configured_game(name)
    assert Agent.load(folder.agent, game).game is game
    make_player(str(folder.path), game)
    with pytest.raises(GameError, match="--game"):
        Agent.load(folder.agent)
    with pytest.raises((GameError, PlayerError)):
        make_player(str(folder.path), load_game("kuhn_poker"))
    del sys.modules[module]
    with pytest.raises(GameError):
        load_game(name)
    assert module not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.to_be.found:Game", "importing nowhere.to_be.found failed: ModuleNotFoundError"),
        ("json:JSONDecoder", "json has no game class JSONDecoder"),
        ("json:Nothing", "json has no game class Nothing"),
        (f"{MODULE}:RockPaperScissors(size=3)", "unexpected keyword argument 'size'"),
        (f"{MODULE}:RockPaperScissors(size)", "expected parameter=value"),
        (f"{MODULE}:", "expected name"),
        (":Game", "importing  failed"),
        ("broken:Game", "importing broken failed: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_used_is_explained(module, tmp_path, text, message):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(GameError, match=message):
        configured_game(text)
