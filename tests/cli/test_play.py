import asyncio
import builtins
import contextlib
import io
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from asynccfr.cli.play import command, play_round
from asynccfr.games import load_game
from asynccfr.games.lost_cities_view import COLORS
from asynccfr.games.python import PythonGame
from asynccfr.games.seen import is_seen
from asynccfr.players import make_player
from asynccfr.seeding import Rng
from tests.agents.crafted import craft
from tests.cli.command_line import ENVIRONMENT

SMALL = "lost_cities(colors=3, numbers=5, hand_size=4)"


def play(*arguments, typed=""):
    return CliRunner().invoke(command, list(arguments), input=typed)


def cards_in(text):
    """Every card that a text shows: `red 7` in a line, or 7 in the row of red."""
    shown = set()
    for line in text.splitlines():
        for color in COLORS:
            shown |= {(color, rank) for rank in re.findall(rf"{color} (\d+|wager)", line)}
            if line.startswith(f"{color} "):
                row = re.sub(r"\(-?\d+\)", "", line)
                shown |= {(color, rank) for rank in re.findall(r"\d+", row)}
    return shown


class Spy:
    """An opponent that compares its hidden cards with all that was printed while it held them."""

    def __init__(self, bot, output):
        self.name = bot.name
        self.bot = bot
        self.output = output
        self.read = 0
        self.comparisons = 0

    def act(self, state, rng):
        me = state.current_player
        view = state.view(me)
        text = self.output.getvalue()
        if view.phase == "card":
            known = set(state.view(1 - me).opponent_known)
            hidden = {
                (COLORS[c.color], str(c.rank)) for c in view.hand if c.rank and c not in known
            }
            assert not hidden & cards_in(text[self.read :])
            self.comparisons += len(hidden)
        else:
            self.read = len(text)
        return self.bot.act(state, rng)


@pytest.mark.parametrize("bot", ["random", "bold"])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_hidden_cards_are_never_shown(bot, seat, seed, monkeypatch):
    game, rng, output = load_game("lost_cities"), Rng(seed), io.StringIO()
    monkeypatch.setattr(builtins, "input", lambda prompt: str(1 + rng.integer(6)))
    spy = Spy(make_player(bot, game), output)
    with contextlib.redirect_stdout(output), asyncio.Runner() as runner:
        play_round(runner, game.new_state(seed), seat, spy, Rng(seed))
    assert spy.comparisons > 50
    assert re.search(r"You (win|lose) by \d+\.|A draw\.", output.getvalue())


def test_the_search_for_hidden_cards_finds_them():
    state = load_game("lost_cities").new_state(1)
    for player in (0, 1):
        hand = {(COLORS[card.color], str(card.rank or "wager")) for card in state.view(player).hand}
        assert hand <= cards_in(str(state))
        numbers = {card for card in hand if card[1] != "wager"}
        assert numbers == cards_in(state.information_state_string(player))


def test_a_whole_round_by_numbers_ends_with_the_score_sheet():
    result = play("bold", "--seed", "5", "--game", SMALL, typed="1\n" * 500)
    assert result.exit_code == 0
    *_, points, _, _, outcome = result.output.splitlines()
    _, opponent, person = points.split()
    lead = int(person) - int(opponent)
    expected = f"You {'win' if lead > 0 else 'lose'} by {abs(lead)}." if lead else "A draw."
    assert outcome == expected


def test_short_texts_are_understood_and_shown_on_the_table():
    state = load_game(SMALL).new_state(5)
    card = next(card for card in state.view(0).hand if card.rank)
    name = COLORS[card.color]
    result = play("bold", "--seed", "5", "--game", SMALL, typed=f"p {name[0]}{card.rank}\nquit\n")
    row = next(line for line in reversed(result.output.splitlines()) if line.startswith(f"{name} "))
    assert f" {card.rank} (" in row


def test_the_same_seed_deals_the_same_cards():
    texts = [play("random", "--seed", "9", typed="quit\n").output for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0] != play("random", "--seed", "10", typed="quit\n").output


def test_without_a_seed_the_deal_can_be_repeated():
    first = play("random", typed="quit\n").output
    seed = re.search(r"deal (\d+)", first)[1]
    assert f"`--seed {seed} --seat 0` deals it again" in first
    assert play("random", "--seed", seed, typed="quit\n").output == first


def test_invalid_input_asks_again():
    typed = "\n0\n99\nnonsense\np\nquit\n"
    result = play("bold", "--seed", "3", typed=typed)
    assert result.exit_code == 0
    for answer in ("0: there are choices 1 to 16", "99: there", "nonsense: none of", "p: play red"):
        assert answer in result.output
    assert result.output.count("> ") == 6


def test_help_and_board():
    result = play("bold", "--seed", "3", typed="help\nboard\nquit\n")
    told = " ".join(result.output.split())
    assert "`p r7` plays the red 7" in told
    assert "An expedition that has been opened scores its numbers minus 20" in told
    assert result.output.count("deck: 44 cards") == 2


@pytest.mark.parametrize("typed", ["", "1\n", "quit\n"])
def test_the_end_of_input_leaves_the_round(typed):
    result = play("bold", "--seed", "3", typed=typed)
    assert result.exit_code == 0
    assert result.output.endswith("You have left the round; `--seed 3 --seat 0` deals it again.\n")


def test_ctrl_c_leaves_the_round(monkeypatch):
    def interrupted(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr(builtins, "input", interrupted)
    result = play("bold", "--seed", "3")
    assert result.exit_code == 0
    assert "You have left the round" in result.output


def test_an_only_choice_is_made_without_asking():
    result = play("bold", "--seed", "3", typed="1\nquit\n")
    assert "You draw deck, your only choice." in result.output


@pytest.mark.parametrize("seat", ["0", "1"])
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_poker_shows_the_own_card_only(game, seat):
    for seed in range(20):
        result = play(
            "random", "--game", game, "--seed", str(seed), "--seat", seat, typed="1\n" * 9
        )
        assert result.exit_code == 0
        during, after = result.output.split("The round is over.")
        cards = re.findall(r"cards: (\S+) ([^;\s]+);", during)
        theirs, ours = re.findall(r"cards: (\S+) ([^;\s]+);", after)
        assert "?" == theirs[int(seat)] == ours[1 - int(seat)] != theirs[1 - int(seat)]
        assert cards
        assert all((pair[1 - int(seat)], pair[int(seat)] != "?") == ("?", True) for pair in cards)
        assert re.search(r"You (win|lose) by \d+\.|A draw\.", result.output)


class Choice(PythonGame):
    """Seat 0 moves, seat 1 does not see it and guesses."""

    def __init__(self):
        super().__init__(
            name="choice",
            num_actions=2,
            information_state_tensor_size=1,
            min_utility=-1.0,
            max_utility=1.0,
        )

    def start(self):
        return ()

    def player(self, position):
        return len(position) if len(position) < 2 else -4

    def legal_actions(self, position):
        return [0, 1]

    def next(self, position, action):
        return (*position, action)

    def returns(self, position):
        return [1.0, -1.0] if position[0] != position[1] else [-1.0, 1.0]

    def information_state(self, position, player):
        return f"seat {player}, own move {position[player : player + 1]}"

    def tensor(self, position, player):
        return [float(player)]

    def action_name(self, position, action):
        return ("left", "right")[action]


def test_a_hidden_move_is_not_named(monkeypatch, capsys):
    game = Choice()
    monkeypatch.setattr(builtins, "input", lambda prompt: "left")
    state = game.new_state(0)
    assert not is_seen(state, 0, player=1)
    with asyncio.Runner() as runner:
        play_round(runner, state, 1, make_player("random", game), Rng(0))
    assert capsys.readouterr().out.startswith("random: moves\n")


def test_an_unknown_opponent_is_named():
    result = play("nobody")
    assert result.exit_code == 1
    assert "unknown player 'nobody'" in str(result.exception)


def test_what_is_drawn_is_said_to_who_draws_it():
    result = play("bold", "--seed", "5", "--game", SMALL, typed="1\n" * 500)
    own = re.findall(r"You draw deck, your only choice\.\ndrawn: (\w+) \w+\n", result.output)
    assert own
    assert set(own) <= set(COLORS)
    assert "bold: draw deck\n" in result.output
    assert "bold: draw deck\ndrawn" not in result.output


def test_the_opponents_cards_are_shown_when_the_round_is_over():
    typed = "1\n" * 500
    during, after = play("bold", "--seed", "5", "--game", SMALL, typed=typed).output.split(
        "The round is over. What bold saw:"
    )
    assert "What bold saw" not in during
    assert after.count("deck: 0 cards") == 2


def test_a_match_of_three_rounds():
    result = play("bold", "--seed", "5", "--game", SMALL, "--rounds", "3", typed="1\n" * 500)
    assert result.exit_code == 0
    assert "Round 1 of 3: you begin." in result.output
    results = re.findall(r"You (win|lose) by (\d+)\.|A draw\.", result.output)
    sums = re.findall(r"After \d of 3 rounds: (?:you are ([+-]\d+)|all square)\.", result.output)
    assert len(results) == len(sums) == 3
    total = 0
    for (outcome, points), told in zip(results, sums, strict=True):
        total += {"win": 1, "lose": -1, "": 0}[outcome] * int(points or 0)
        assert int(told or 0) == total
    begins = re.findall(r"Round [23] of 3: (\w+) begins?\.", result.output)
    for who, told in zip(begins, sums, strict=False):
        assert (who == "you") == (int(told or 1) > 0)
    left = play("bold", "--seed", "5", "--rounds", "3", typed="quit\n").output
    assert "`--seed 5 --seat 0 --rounds 3` deals it again" in left


@pytest.mark.parametrize("columns", [40, 79])
def test_nothing_is_wider_than_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = play("bold", "--seed", "5", typed="help\nboard\n1\n1\n1\nquit\n")
    lines = result.output.splitlines()
    assert max(map(len, lines[1:-1])) <= max(columns, len("  9 discard yellow wager"))
    assert ("  hand: " in result.output) == (columns < 45)


def test_games_of_openspiel_can_be_read(monkeypatch):
    game = "openspiel:goofspiel(num_cards=4,imp_info=True)"
    result = play("random", "--game", game, "--seed", "1", typed="help\n" + "1\n" * 9)
    assert result.exit_code == 0
    assert "P0 hand: 1 2 3 4" in result.output
    assert "a game of OpenSpiel" in result.output
    assert re.search(r"You (win|lose) by \d+\.|A draw\.", result.output)


@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_none_are_wanted(setting, monkeypatch, tmp_path):
    """On a terminal, which colours the table unless it is asked not to."""

    def shown(environment):
        import pty

        master, slave = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "asynccfr", "play", "bold", "--seed", "5"],
            env={**ENVIRONMENT, "TERM": "xterm", **environment},
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
        ) as process:
            process.wait(60)
        os.close(slave)
        text = os.read(master, 1 << 16)
        os.close(master)
        return text

    assert b"\x1b[31m" in shown({"NO_COLOR": ""})
    assert b"\x1b[" not in shown(setting)


def test_a_narrow_encoding_shows_what_it_can(tmp_path):
    craft(tmp_path / "agent")
    for encoding in ("ascii", "latin-1", "utf-8"):
        done = subprocess.run(
            [sys.executable, "-m", "asynccfr", "evaluate", "agent", "--deals", "4"],
            env={**ENVIRONMENT, "PYTHONIOENCODING": encoding},
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"Scores" in done.stdout
