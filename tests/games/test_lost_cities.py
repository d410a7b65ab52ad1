"""Lost Cities against an independent reference, and its scoring by hand."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asynccfr.games.conformance import choose
from asynccfr.games.lost_cities import LostCities
from asynccfr.games.lost_cities_view import Card, View
from asynccfr.seeding import Rng
from tests.games.lost_cities_reference import NAMES, Round

HIDDEN = 255
CARDS = {
    f"{name} {rank or 'wager'}": Card(color, rank)
    for color, name in enumerate(NAMES)
    for rank in (0, *range(2, 11))
}
OUTCOMES = {name: 16 * card.color + max(card.rank - 1, 0) for name, card in CARDS.items()}


@st.composite
def rules(draw: st.DrawFn, colors: int) -> dict[str, int]:
    """Parameters of all kinds, small ones first."""
    wagers = draw(st.integers(0, 3))
    numbers = draw(st.integers(2 if colors + wagers > 1 else 3, 9))
    return {
        "colors": colors,
        "numbers": numbers,
        "wagers": wagers,
        "hand_size": draw(st.integers(1, min(8, (colors * (numbers + wagers) - 1) // 2))),
        "cost": draw(st.integers(0, 30)),
        "multiplier": draw(st.integers(0, 3)),
        "bonus_threshold": draw(st.integers(1, 13)),
        "bonus": draw(st.integers(0, 30)),
        "max_pile_draws": draw(st.integers(0, 20)),
    }


class Pilot:
    """Chooses moves by name, with a taste for opening, for ascending slowly and for piles."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.plays, self.low, self.piles = random.random(), random.random(), random.random()

    def choose(self, moves: list[str]) -> str:
        random = self.random
        plays = [move for move in moves if move.startswith("play")]
        piles = [move for move in moves if move.endswith("pile")]
        if plays and random.random() < self.plays:
            return min(plays, key=height) if random.random() < self.low else random.choice(plays)
        if piles and random.random() < self.piles:
            return random.choice(piles)
        return random.choice(moves)


def height(move: str) -> int:
    last = move.split()[-1]
    return 0 if last == "wager" else int(last)


class Match:
    """A state and a reference, played side by side."""

    def __init__(self, values: dict[str, int]) -> None:
        self.game = LostCities(**values)
        self.state: Any = self.game.new_state()
        self.reference = Round(**values)
        self.names = [str(move) for move in self.game.moves]
        self.keys = [bytearray([0]), bytearray([1])]

    def step(self, pilot: Pilot) -> None:
        """One step of both, chosen by the pilot or drawn from the deck."""
        state, reference = self.state, self.reference
        if state.is_chance:
            name = pilot.random.choice(reference.deck).name
            number = OUTCOMES[name]
            assert state.action_to_string(number) == name
            reference.deal(name)
        else:
            name = pilot.choose([self.names[action] for action in state.legal_actions()])
            number = self.names.index(name)
            assert state.action_to_string(number) == name
            reference.move(name)
        state.apply(number)
        for player, key in enumerate(self.keys):
            seen = reference.players[player].observations[-1]
            key.append(HIDDEN if seen == "they get a card" else number)

    def try_and_undo(self, random: Random) -> None:
        """Steps and back again, which must leave no trace."""
        depth = 0
        rng = Rng(random.getrandbits(64))
        while depth < 4 and not self.state.is_terminal:
            self.state.apply(choose(self.state, rng))
            depth += 1
        for _ in range(depth):
            self.state.undo()

    def compare(self) -> None:
        state, reference = self.state, self.reference
        mover = reference.player_to_move()
        assert state.is_terminal == reference.over
        assert state.is_chance == (reference.pending is not None and not reference.over)
        assert state.turn_count == reference.turns()
        assert state.pile_draws_exhausted == (reference.pile_draws() == reference.max_pile_draws)
        if mover is not None:
            assert state.current_player == mover
            legal = [self.names[action] for action in state.legal_actions()]
            assert len(legal) == len(set(legal))
            assert set(legal) == reference.legal_moves()
        if state.is_chance:
            left = len(reference.deck)
            cards = reference.deck_contents().items()
            expected = {OUTCOMES[name]: count / left for name, count in cards}
            assert dict(state.chance_outcomes()) == expected
        if reference.over:
            lead = sum(reference.scores(0)) - sum(reference.scores(1))
            assert state.returns() == [lead, -lead]
        for player in range(2):
            assert state.information_state_key(player) == self.keys[player]

    def compare_view(self, player: int) -> None:
        reference = self.reference
        me, you = reference.players[player], reference.players[1 - player]
        view: View = self.state.view(player)
        assert view.player == player
        assert view.current_player == self.state.current_player
        if not reference.over:
            assert view.turn == reference.turn
        assert view.hand == by_color_and_rank(card.name for card in me.hand)
        assert view.opponent_known == by_color_and_rank(reference.certain_cards(1 - player))
        assert view.deck_size == len(reference.deck)
        assert view.pile_draws_left == reference.max_pile_draws - reference.pile_draws()
        forbidden = reference.just_discarded
        assert view.forbidden == (None if forbidden is None else NAMES.index(forbidden.color))
        assert (view.phase == "draw") == (reference.must_draw and reference.pending is None)
        to_move = reference.player_to_move() == player
        assert view.legal_actions == tuple(self.state.legal_actions() if to_move else ())
        assert view.own_expeditions == ranks(me.expeditions)
        assert view.opponent_expeditions == ranks(you.expeditions)
        assert view.piles == ranks(reference.piles)
        assert view.own_scores == reference.scores(player)
        assert view.opponent_scores == reference.scores(1 - player)
        sizes = self.state.expedition_sizes(player)
        assert sizes == tuple(len(cards) for cards in me.expeditions.values())


def by_color_and_rank(names: Iterable[str]) -> tuple[Card, ...]:
    return tuple(sorted([CARDS[name] for name in names]))


def ranks(stacks: dict[str, list[Any]]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple([card.number or 0 for card in cards]) for cards in stacks.values()])


@pytest.mark.parametrize("colors", range(1, 7))
def test_follows_the_reference_move_by_move(colors: int) -> None:
    @settings(max_examples=1300 // (colors + 1), deadline=None)  # about 2000 rounds in all
    @given(values=rules(colors), seed=st.integers(0, 2**32 - 1))
    def check(values: dict[str, int], seed: int) -> None:
        match = Match(values)
        pilot = Pilot(Random(seed))
        while not match.state.is_terminal:
            match.compare()
            if pilot.random.random() < 0.5:
                match.compare_view(pilot.random.randrange(2))
            if pilot.random.random() < 0.1:
                match.try_and_undo(pilot.random)
            match.step(pilot)
        match.compare()
        match.compare_view(0)
        match.compare_view(1)

    check()


def test_draws_are_counted_by_player_and_place() -> None:
    game = LostCities(colors=2, numbers=4, wagers=1, hand_size=2)
    rng = Rng(4)
    for _ in range(20):
        state = game.new_state(rng.bits())
        expected = [[0, 0], [0, 0]]
        while not state.is_terminal:
            action = choose(state, rng)
            kind = game.moves[action].kind
            expected[state.current_player][0] += kind == "draw pile"
            expected[state.current_player][1] += kind.startswith("draw")
            state.apply(action)
        assert [list(state.draws(player)) for player in range(2)] == expected
