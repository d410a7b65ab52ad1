"""`asynccfr play`: a round, or a match of three, at the terminal against an agent or a bot.

What is printed comes from what the person's seat knows: its `table_to_string`, the names of
its own choices, and those moves of chance and of the opponent that its information state tells
apart. When a round is over, the opponent's cards are shown too.
"""

import asyncio
import os
import textwrap
from contextlib import AsyncExitStack

import click

from asynccfr.cli.options import chosen_game, game_option
from asynccfr.cli.terminal import in_columns, narrowed, width
from asynccfr.games import Game, State
from asynccfr.games.seen import is_seen
from asynccfr.players import CHAMPION, Player, seated
from asynccfr.players.protocol import take_turn
from asynccfr.players.typed_action import NotUnderstood, typed_action
from asynccfr.seeding import EVALUATION, Rng, stream

HELP = """\
Type the number of a choice, or enough of its words. `board` shows the table again, `quit`
leaves."""


class Left(Exception):
    """The person has left the table."""


@click.command("play")
@click.argument("agent", default=CHAMPION)
@game_option
@click.option("--seed", type=click.IntRange(0), help="Deal the cards of this seed again.")
@click.option(
    "--seat",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="Where you sit in the first round; seat 0 begins.",
)
@click.option(
    "--rounds",
    type=click.Choice(["1", "3"]),
    default="1",
    show_default=True,
    help="Rounds to play; their scores add up, and whoever is ahead begins the next.",
)
def command(agent: str, game: str | None, seed: int | None, seat: int, rounds: str) -> None:
    """Play against AGENT, by default the champion that comes with the package.

    An AGENT is the folder of a run, the file of an agent, `champion`, or the name of a bot.
    """
    table = chosen_game(game, [agent])
    seed = int.from_bytes(os.urandom(4)) if seed is None else seed
    # The terminal is read outside the event loop, where Ctrl-C interrupts reading.
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        (opponent,) = runner.run(stack.enter_async_context(seated([agent], table)))
        click.echo(f"{table.name} against {opponent.name}, deal {seed}; `help` says what to type.")
        try:
            play_match(runner, table, opponent, seed, seat, int(rounds))
        except Left:
            again = f"--seed {seed} --seat {seat}" + (" --rounds 3" if rounds == "3" else "")
            click.echo(f"You have left the round; `{again}` deals it again.")
        finally:
            runner.run(stack.aclose())


def play_match(
    runner: asyncio.Runner, game: Game, opponent: Player, seed: int, seat: int, rounds: int
) -> None:
    """Play the rounds, whose results add up; raises Left if the person leaves before."""
    ahead = 0.0
    for number in range(rounds):
        if rounds > 1:
            begins = "you begin" if seat == 0 else f"{opponent.name} begins"
            click.echo(f"Round {number + 1} of {rounds}: {begins}.")
        state, deal = game.new_state(), Rng(seed + number)
        rng = stream(seed + number, (EVALUATION, 1 - seat))
        ahead += play_round(runner, state, seat, opponent, rng, deal)
        if ahead:
            seat = 0 if ahead > 0 else 1
        if rounds > 1:
            where = "all square" if not ahead else f"you are {ahead:+g}"
            click.echo(f"After {number + 1} of {rounds} rounds: {where}.")


def play_round(
    runner: asyncio.Runner,
    state: State,
    seat: int,
    opponent: Player,
    rng: Rng,
    deal: Rng | None = None,
) -> float:
    """Play to the end, show both sides and return the result; raises Left if the person leaves.

    `deal` draws for a state that does not draw by itself.
    """
    on_turn = dealt = False
    while not state.is_terminal:
        if state.is_chance:
            assert deal is not None
            before, outcome = state.clone(), state.draw(deal)
            state.apply(outcome)
            if dealt and not state.is_terminal and is_seen(before, outcome, seat):
                click.echo(f"drawn: {before.action_to_string(outcome)}")
            continue
        dealt = True
        if state.current_player == seat:
            if not on_turn:
                show(state, seat)
            state.apply(choose(state, seat))
            on_turn = True
        else:
            before = state.clone()
            action = runner.run(take_turn(opponent, state, rng))
            seen = is_seen(before, action, seat)
            click.echo(f"{opponent.name}: {before.action_to_string(action) if seen else 'moves'}")
            on_turn = False
    click.echo(f"\nThe round is over. What {opponent.name} saw:", nl=False)
    show(state, 1 - seat)
    click.echo("\nWhat you saw:", nl=False)
    show(state, seat)
    result = float(state.returns()[seat])
    click.echo(
        f"You {'win' if result > 0 else 'lose'} by {abs(result):g}." if result else "A draw."
    )
    return result


def choose(state: State, seat: int) -> int:
    """Ask the person until they name one of their choices; a single choice is made for them."""
    actions = state.legal_actions()
    names = [state.action_to_string(action) for action in actions]
    short = {state.action_to_short_string(action): place for place, action in enumerate(actions)}
    if len(actions) == 1:
        click.echo(f"You {names[0]}, your only choice.")
        return actions[0]
    click.echo(in_columns([f"{number:>3} {name}" for number, name in enumerate(names, 1)]))
    while True:
        text = read_line()
        if text == "board":
            show(state, seat)
        elif text == "help":
            explain(state.game)
        elif text == "quit":
            raise Left
        elif text:
            try:
                return actions[short[text] if text in short else typed_action(text, names)]
            except NotUnderstood as error:
                click.echo(str(error))


def read_line() -> str:
    """A line from the terminal; raises Left at its end and at Ctrl-C."""
    try:
        return input("> ").strip().lower()
    except (EOFError, KeyboardInterrupt):
        click.echo()
        raise Left from None


def show(state: State, seat: int) -> None:
    """What the seat knows, in the game's colours."""
    click.echo()
    for line in narrowed(state.table_to_string(seat).splitlines()):
        click.secho(line, fg=state.game.LINE_COLORS.get(line.partition(" ")[0]))


def explain(game: Game) -> None:
    """The rules and the scoring, then what to type."""
    for text in (*game.rules_text().split("\n\n"), HELP):
        click.echo(textwrap.fill(" ".join(text.split()), width()))
