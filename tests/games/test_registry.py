"""Games by name."""

import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.errors import GameError, MissingPackage
from asynccfr.games import Game, load_game, registered_games
from asynccfr.games.parameters import Parameter, check_parameters
from asynccfr.games.registry import describe_games, parse


@pytest.mark.parametrize("name", registered_games())
def test_a_game_is_loaded_by_name_and_prints_what_loads_it(name: str) -> None:
    game = load_game(name)
    assert isinstance(game, registered_games()[name])
    assert game.name == name
    again = load_game(str(game))
    assert again.parameters == game.parameters
    assert str(again) == str(game)


@given(data=st.data())
def test_parameters_survive_the_round_trip(data: st.DataObject) -> None:
    table = registered_games()["lost_cities"].PARAMETERS
    values = {p.name: data.draw(st.integers(int(p.low), int(p.high))) for p in table}
    values["hand_size"] = min(values["hand_size"], 9)
    text = f"lost_cities({', '.join(f'{name}={value}' for name, value in values.items())})"
    if values["colors"] * (values["numbers"] + values["wagers"]) > 2 * values["hand_size"]:
        game = load_game(text)
        assert game.parameters == values
        assert str(game) == text
    else:
        with pytest.raises(GameError, match="do not make two hands and a deck"):
            load_game(text)


@pytest.mark.parametrize(
    "text",
    ["lost_cities(colors=3,hand_size=4)", "  lost_cities ( hand_size = +4 , colors = 3 )  "],
)
def test_spaces_and_order_do_not_matter(text: str) -> None:
    game = load_game(text)
    assert (game.parameters["colors"], game.parameters["hand_size"]) == (3, 4)


def test_values_have_the_type_they_are_written_in() -> None:
    name, given_values = parse("g(a=1, b=-2, c=0.5, d=1e-3, e=true, f=False, g=.5, h=2.)")
    assert name == "g"
    expected = {"a": 1, "b": -2, "c": 0.5, "d": 1e-3, "e": True, "f": False, "g": 0.5, "h": 2.0}
    assert given_values == expected
    assert [type(v) for v in given_values.values()] == [type(v) for v in expected.values()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lost_citys", "unknown game 'lost_citys'; did you mean 'lost_cities'? (expected one of"),
        ("go", "unknown game 'go' (expected one of dark_hex, "),
        ("", "game '': expected name or name(parameter=value, ...)"),
        ("lost_cities(", "expected name or name(parameter=value, ...)"),
        ("lost_cities)", "expected name or name(parameter=value, ...)"),
        ("lost_cities(colors=3) x", "expected name or name(parameter=value, ...)"),
        ("lost_cities(colors)", "'colors': expected parameter=value"),
        ("lost_cities(colors=)", "'colors=': expected parameter=value"),
        ("lost_cities(=3)", "'=3': expected parameter=value"),
        ("lost_cities(colors=3,)", "'': expected parameter=value"),
        ("lost_cities(colors=3 4)", "colors=3 4: expected a number, true, false or a word"),
        ("lost_cities(colors=nan)", "colors='nan': expected an integer from 1 to"),
        ("lost_cities(colors=__import__)", "expected a number, true, false or a word"),
        ("lost_cities(colors=3, colors=4)", "'colors' is given twice"),
        ("lost_cities(colours=3)", "unknown parameter 'colours'; did you mean 'colors'?"),
        ("lost_cities(colors=0)", "colors=0: expected an integer from 1 to 6 (colours;"),
        ("lost_cities(colors=2.0)", "colors=2.0: expected an integer from 1 to 6"),
        ("lost_cities(colors=true)", "colors=True: expected an integer from 1 to 6"),
        ("kuhn_poker(players=3)", "kuhn_poker: unknown parameter 'players' (it has no parameters)"),
    ],
)
def test_an_error_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(GameError) as caught:
        load_game(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_floats_and_flags() -> None:
    table = (
        Parameter("rake", 0.0, 0.0, 1.0, "share of the pot"),
        Parameter("open", False, False, True, "cards are dealt face up"),
    )
    assert check_parameters("g", table, {}) == {"rake": 0.0, "open": False}
    assert check_parameters("g", table, {"open": True, "rake": 1}) == {"rake": 1, "open": True}
    with pytest.raises(GameError, match="g: open=1: expected true or false"):
        check_parameters("g", table, {"open": 1})
    with pytest.raises(GameError, match=r"g: rake=1\.5: expected a number from 0\.0 to 1\.0"):
        check_parameters("g", table, {"rake": 1.5})


def test_descriptions_list_every_game_with_its_parameters() -> None:
    described = {game.name: game for game in describe_games()}
    assert list(described) == list(registered_games())
    for name, game in described.items():
        assert game.summary.endswith(".")
        assert [parameter.name for parameter in game.parameters] == list(load_game(name).parameters)
        for parameter in game.parameters:
            assert parameter.default is None or parameter.accepts(parameter.default)
            assert not parameter.accepts(parameter.high + 1)
            assert parameter.description
    colors = described["lost_cities"].parameters[0]
    assert (colors.name, colors.default, colors.range) == ("colors", 5, "an integer from 1 to 6")


def test_openspiel_is_asked_for_its_games_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyspiel", None)
        without.delitem(sys.modules, "asynccfr.games.openspiel", raising=False)
        with pytest.raises(MissingPackage, match=r"liars_dice.*asynccfr\[open_spiel\]"):
            load_game("openspiel:liars_dice(dice_sides=4)")
    adapter = ModuleType("asynccfr.games.openspiel")
    asked = []

    def load(spec: str) -> Game:
        asked.append(spec)
        return load_game("kuhn_poker")

    monkeypatch.setattr(adapter, "load", load, raising=False)
    monkeypatch.setitem(sys.modules, "asynccfr.games.openspiel", adapter)
    assert load_game("openspiel:liars_dice(dice_sides=4)").name == "kuhn_poker"
    assert asked == ["liars_dice(dice_sides=4)"]
