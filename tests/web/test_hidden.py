"""What the opponent holds unseen is in no byte that a chair is sent."""

import json
import re

import pytest

from asynccfr.games.lost_cities_view import COLORS
from asynccfr.seeding import Rng
from asynccfr.web import application as api
from asynccfr.web.messages import Action, NewTable
from asynccfr.web.table import choices_of
from tests.cli.test_play import cards_in

NAMED = re.compile(rf"({'|'.join(COLORS)}) (\d+)")

GAME = (
    "lost_cities(colors=5, numbers=9, wagers=3, hand_size=8, cost=20, multiplier=1, "
    "bonus_threshold=8, bonus=20, max_pile_draws=44)"
)


def numbers_in(sent: bytes) -> set[tuple[str, str]]:
    """Every number card that a message shows, in its records and in its texts."""
    shown = set(NAMED.findall(sent.decode()))

    def look(part):
        if isinstance(part, dict):
            if "rank" in part:
                shown.add((COLORS[part["color"]], str(part["rank"])))
            if "pile" in part:
                for ranks in (part["own"], part["opponent"], part["pile"]):
                    shown.update((part["name"], str(rank)) for rank in ranks)
            for name, each in part.items():
                if name == "text" and "position" in part:
                    shown.update(cards_in(each))
                look(each)
        elif isinstance(part, list):
            for each in part:
                look(each)

    look(json.loads(sent))
    return shown


def hidden_from(table, chair) -> set[tuple[str, str]]:
    """The number cards that the opponent of a chair holds unseen."""
    seat = table.seat(chair)
    known = set(table.state.view(seat).opponent_known)
    hand = table.state.view(1 - seat).hand
    return {(COLORS[c.color], str(c.rank)) for c in hand if c.rank and c not in known}


@pytest.mark.parametrize(
    ("opponent", "games"), [("random", 90), ("bold", 90), ("champion", 18), ("friend", 2)]
)
async def test_200_random_games_show_no_hidden_card(lounge, opponent, games):
    rng, compared = Rng(7), 0
    for game in range(games):
        seat = await lounge.new_table(NewTable(game=GAME, opponent=opponent, seat=game % 2))
        tokens = [seat.token]
        if seat.invitation:
            tokens.append(lounge.join(seat.invitation.removeprefix("/join/")).token)
        table = lounge.find(seat.token).table
        while not table.state.is_terminal:
            chair = table.chair_to_move()
            choices = choices_of(table.state, table.state.current_player)
            action = choices[rng.integer(len(choices))].action
            move = Action(position=len(table.round.actions), action=action)
            answers = [api.as_json(await api.act(lounge, tokens[chair], move)).body]
            if table.state.is_terminal:
                break
            if opponent == "friend":
                answers = [
                    api.as_json(await api.position(lounge, token, None)).body for token in tokens
                ]
            elif rng.integer(8) == 0:
                answers.append(api.as_json(await api.advice(lounge, tokens[0], None)).body)
            for number, sent in enumerate(answers):
                hidden = hidden_from(table, number if opponent == "friend" else 0)
                assert not hidden & numbers_in(sent)
                assert str(table.round.seed).encode() not in sent
                compared += len(hidden)
    assert compared > 200 * games


async def test_the_search_for_hidden_cards_finds_them(lounge):
    seat = await lounge.new_table(NewTable(game=GAME, opponent="friend"))
    friend = lounge.join(seat.invitation.removeprefix("/join/"))
    table = lounge.find(seat.token).table
    sent = api.as_json(await api.position(lounge, friend.token, None)).body
    assert hidden_from(table, 0)
    assert hidden_from(table, 0) <= numbers_in(sent)


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
async def test_other_games_tell_what_the_seat_knows(lounge, game):
    for _ in range(20):
        seat = await lounge.new_table(NewTable(game=game, opponent="friend"))
        friend = lounge.join(seat.invitation.removeprefix("/join/"))
        table = lounge.find(seat.token).table
        for token, chair in ((seat.token, 0), (friend.token, 1)):
            position = await api.position(lounge, token, None)
            assert position.text == table.state.information_state_string(table.seat(chair))
