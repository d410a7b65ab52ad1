"""Every registered game keeps the contract, at its default and at unusual parameters."""

import contextlib
from typing import Any

import pytest

from asynccfr.errors import GameError
from asynccfr.games import load_game, registered_games
from asynccfr.games.conformance import check_game
from asynccfr.games.hidden_board import HiddenBoard
from asynccfr.games.symmetry import equal_blocks

VARIANTS = {
    "dark_hex": [
        "dark_hex(gameversion=adh)",
        "dark_hex(num_rows=2, num_cols=3)",
        "dark_hex(board_size=4)",
    ],
    "liars_dice": [
        "liars_dice(numdice=2, dice_sides=5)",
        "liars_dice(numdice=3, dice_sides=2, bidding_rule=reset-quantity)",
    ],
    "phantom_ttt": [
        "phantom_ttt(gameversion=abrupt)",
        "phantom_ttt(num_rows=2, num_cols=3, line=2)",
        "phantom_ttt(num_rows=3, num_cols=1)",
    ],
    "lost_cities": [
        "lost_cities(colors=1, numbers=4, wagers=1, hand_size=2)",
        "lost_cities(colors=1, numbers=3, wagers=0, hand_size=1)",
        "lost_cities(colors=2, numbers=3, wagers=0, hand_size=2, max_pile_draws=0)",
        "lost_cities(colors=3, numbers=5, wagers=1, hand_size=4)",
        "lost_cities(colors=6, max_pile_draws=10)",
        "lost_cities(colors=2, cost=100, multiplier=10, bonus=100, bonus_threshold=1)",
    ],
}


@pytest.mark.parametrize(
    "text", [text for name in registered_games() for text in (name, *VARIANTS.get(name, ()))]
)
def test_game_keeps_the_contract(text: str) -> None:
    game = load_game(text)
    deals = not isinstance(game, HiddenBoard)
    check_game(game, playouts=2 if game.num_actions > 30 else 20, hidden_information=deals)


class Wrapper:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __str__(self) -> str:
        return str(self.inner)


class WrappedGame(Wrapper):
    """Kuhn poker with states of another class."""

    def __init__(self, state_class: type["WrappedState"]) -> None:
        super().__init__(load_game("kuhn_poker"))
        self.state_class = state_class

    def new_state(self, rng: Any = None) -> Wrapper:
        return self.state_class(self.inner.new_state(rng))


class WrappedState(Wrapper):
    """A sound state; each subclass breaks one rule."""

    def clone(self) -> Any:
        return type(self)(self.inner.clone())


class TellsCards(WrappedState):
    def information_state_key(self, player: int) -> bytes:
        key = self.inner.information_state_key(player)
        return key + self.inner.information_state_key(1 - player)


class ForgetsMoves(WrappedState):
    def information_state_key(self, player: int) -> bytes:
        return self.inner.information_state_key(player)[:3]


class ShowsCards(WrappedState):
    def information_state_tensor(self, player: int, out_row: Any = None) -> Any:
        row = self.inner.information_state_tensor(player, out_row)
        row[0] = self.inner.information_state_tensor(1 - player)[3]
        return row


class ShowsCardsInWords(WrappedState):
    def information_state_string(self, player: int) -> str:
        return self.inner.information_state_string(1 - player)


class LeavesEntries(WrappedState):
    def information_state_tensor(self, player: int, out_row: Any = None) -> Any:
        tensor = self.inner.information_state_tensor(player)
        if out_row is None:
            return tensor
        out_row[1:] = tensor[1:]
        return out_row


class LeavesQuanta(WrappedState):
    def information_state_tensor(self, player: int, out_row: Any = None) -> Any:
        row = self.inner.information_state_tensor(player, out_row)
        row *= 0.5
        return row


class UndoesNothing(WrappedState):
    def undo(self) -> None:
        if self.inner.history_length() == 0:
            self.inner.undo()


class SharesClones(WrappedState):
    def clone(self) -> Any:
        return self


class LosesWeight(WrappedState):
    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.inner.chance_outcomes()[1:]


class DrawsUnevenly(WrappedState):
    def draw(self, rng: Any) -> int:
        return min(self.inner.draw(rng), self.inner.draw(rng))


class MisordersActions(WrappedState):
    def legal_actions(self) -> list[int]:
        return self.inner.legal_actions()[::-1]


class AcceptsEverything(WrappedState):
    def apply(self, action: int) -> None:
        with contextlib.suppress(GameError):
            self.inner.apply(action)


class PaysTooMuch(WrappedState):
    def returns(self) -> list[float]:
        return [3 * value for value in self.inner.returns()]


class PaysBoth(WrappedState):
    def returns(self) -> list[float]:
        return [abs(value) for value in self.inner.returns()]


def test_wrapping_alone_breaks_nothing() -> None:
    game: Any = WrappedGame(WrappedState)
    check_game(game, playouts=20)


@pytest.mark.parametrize(
    ("field", "blocks", "complaint"),
    [
        ("features", equal_blocks(3, 23), "tensors of player"),
        ("actions", equal_blocks(3, 6), "legal actions differ"),
        ("outcomes", equal_blocks(3, 4, 8), "tensors of player"),
        ("actions", equal_blocks(3, 8), "actions"),
        ("actions", equal_blocks(2, 9), "2 blocks"),
        ("features", ((0, 1), (2,), (3,)), "unequal length"),
        ("features", ((0,), (0,), (1,)), "share members"),
    ],
)
def test_a_symmetry_that_is_none_is_found_out(field: str, blocks: Any, complaint: str) -> None:
    game: Any = Wrapper(load_game("lost_cities(colors=3, numbers=3, wagers=1, hand_size=2)"))
    check_game(game, playouts=2)
    game.symmetry = game.symmetry._replace(**{field: blocks})
    with pytest.raises(AssertionError, match=complaint):
        check_game(game, playouts=2)


@pytest.mark.parametrize("broken", WrappedState.__subclasses__(), ids=lambda cls: cls.__name__)
def test_broken_games_are_found_out(broken: type[WrappedState]) -> None:
    game: Any = WrappedGame(broken)
    with pytest.raises(AssertionError):
        check_game(game, playouts=20)
