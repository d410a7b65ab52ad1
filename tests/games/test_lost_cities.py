"""Lost Cities against an independent reference, and its scoring by hand."""

from collections.abc import Iterable
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lost_cities_reference import NAMES, Round

from asynccfr.games.conformance import choose
from asynccfr.games.lost_cities import LostCities
from asynccfr.games.lost_cities_view import View
from asynccfr.seeding import Rng

HIDDEN = 255


@st.composite
def parameter_sets(draw: st.DrawFn) -> dict[str, int]:
    """Rules of all kinds, small ones first."""
    values = {
        "colors": draw(st.integers(1, 6)),
        "numbers": draw(st.integers(2, 9)),
        "wagers": draw(st.integers(0, 3)),
        "cost": draw(st.integers(0, 30)),
        "multiplier": draw(st.integers(0, 3)),
        "bonus_threshold": draw(st.integers(1, 13)),
        "bonus": draw(st.integers(0, 30)),
    }
    cards = max(3, values["colors"] * (values["numbers"] + values["wagers"]))
    if cards == 3:
        values["numbers"] = 3
    values["hand_size"] = draw(st.integers(1, min(8, (cards - 1) // 2)))
    values["max_pile_draws"] = draw(st.integers(0, 20))
    return values


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
        self.numbers = {str(move): action for action, move in enumerate(self.game.moves)}
        self.keys = [bytearray([0]), bytearray([1])]

    def step(self, pilot: Pilot) -> None:
        """One step of both, chosen by the pilot or drawn from the deck."""
        state, reference = self.state, self.reference
        if state.is_chance:
            name = str(pilot.random.choice(reference.deck))
            number = outcome(name)
            reference.deal(name)
        else:
            moves = [state.action_to_string(action) for action in state.legal_actions()]
            name = pilot.choose(moves)
            number = self.numbers[name]
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

    def compare(self, observer: int) -> None:
        """All that is public, and what one of the players sees."""
        state, reference = self.state, self.reference
        mover = reference.player_to_move()
        assert state.is_terminal == reference.over
        assert state.is_chance == (reference.pending is not None and not reference.over)
        assert state.turn_count == reference.turns()
        assert state.pile_draws_exhausted == (reference.pile_draws() == reference.max_pile_draws)
        if mover is not None:
            assert state.current_player == mover
            legal = [state.action_to_string(action) for action in state.legal_actions()]
            assert len(legal) == len(set(legal))
            assert set(legal) == reference.legal_moves()
        if state.is_chance:
            left = len(reference.deck)
            expected = {name: n / left for name, n in reference.deck_contents().items()}
            outcomes = state.chance_outcomes()
            assert {state.action_to_string(card): p for card, p in outcomes} == expected
        if reference.over:
            lead = sum(reference.scores(0)) - sum(reference.scores(1))
            assert state.returns() == [lead, -lead]
        for player in range(2):
            assert state.information_state_key(player) == self.keys[player]
        self.compare_view(observer)

    def compare_view(self, player: int) -> None:
        reference = self.reference
        me, you = reference.players[player], reference.players[1 - player]
        view: View = self.state.view(player)
        assert view.player == player
        assert view.current_player == self.state.current_player
        if not reference.over:
            assert view.turn == reference.turn
        assert names(view.hand) == names(me.hand)
        assert names(view.opponent_known) == names(reference.certain_cards(1 - player))
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


def names(cards: Iterable[object]) -> list[str]:
    return sorted([str(card) for card in cards])


def ranks(stacks: dict[str, list[Any]]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple([card.number or 0 for card in cards]) for cards in stacks.values()])


def outcome(name: str) -> int:
    """The chance outcome that deals a card of this name."""
    color, rank = name.split()
    return 16 * NAMES.index(color) + (0 if rank == "wager" else int(rank) - 1)


@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=parameter_sets(), seed=st.integers(0, 2**32 - 1))
def test_follows_the_reference_move_by_move(values: dict[str, int], seed: int) -> None:
    match = Match(values)
    pilot = Pilot(Random(seed))
    while not match.state.is_terminal:
        match.compare(observer=pilot.random.randrange(2))
        if pilot.random.random() < 0.1:
            match.try_and_undo(pilot.random)
        match.step(pilot)
    match.compare(observer=0)
    match.compare_view(1)
