"""`asynccfr play`: a round at the terminal against an agent or a bot.

What is printed comes from what the person's seat knows: its `information_state_string`, the names
of its own choices, and those actions of the opponent that its information state tells apart.
"""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack

import click

from asynccfr.cli.options import chosen_game, game_option
from asynccfr.cli.typed_action import NotUnderstood, typed_action
from asynccfr.games import State
from asynccfr.games.lost_cities_view import COLORS
from asynccfr.players import CHAMPION, Player, seated
from asynccfr.players.protocol import take_turn
from asynccfr.seeding import EVALUATION, Rng, stream

LINE = 80

HELP = """\
Type the number of a choice, or enough of its words. In Lost Cities `p r7` plays the red 7, `p rw`
a red wager, `d b3` discards the blue 3, `deck` draws from the deck and `pile g` from the green
pile. `board` shows the table again, `quit` leaves."""

TERMINAL_COLORS = dict(
    zip(COLORS, ("red", "green", None, "blue", "yellow", "magenta"), strict=True)
)


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
    help="Where you sit; seat 0 begins.",
)
def command(agent: str, game: str | None, seed: int | None, seat: int) -> None:
    """Play a round against AGENT, by default the champion that comes with the package.

    An AGENT is the folder of a run, the file of an agent, `champion`, or the name of a bot.
    """
    table = chosen_game(game, [agent])
    seed = int.from_bytes(os.urandom(4)) if seed is None else seed
    state = table.new_state(seed)
    # The terminal is read outside the event loop, where Ctrl-C interrupts reading.
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        (opponent,) = runner.run(stack.enter_async_context(seated([agent], table)))
        click.echo(f"{table.name} against {opponent.name}, deal {seed}; `help` says what to type.")
        try:
            play_round(runner, state, seat, opponent, stream(seed, (EVALUATION, 1 - seat)))
        except Left:
            click.echo(f"You have left the round; `--seed {seed} --seat {seat}` deals it again.")
        finally:
            runner.run(stack.aclose())


def play_round(runner: asyncio.Runner, state: State, seat: int, opponent: Player, rng: Rng) -> None:
    """Play to the end and print the result; raises Left if the person leaves before."""
    on_turn = False
    while not state.is_terminal:
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
    show(state, seat)
    result = state.returns()[seat]
    click.echo(
        f"You {'win' if result > 0 else 'lose'} by {abs(result):g}." if result else "A draw."
    )


def choose(state: State, seat: int) -> int:
    """Ask the person until they name one of their choices; a single choice is made for them."""
    actions = state.legal_actions()
    names = [state.action_to_string(action) for action in actions]
    if len(actions) == 1:
        click.echo(f"You {names[0]}, your only choice.")
        return actions[0]
    click.echo(in_columns([f"{number:>3} {name}" for number, name in enumerate(names, 1)]))
    while True:
        text = read_line()
        if text == "board":
            show(state, seat)
        elif text == "help":
            click.echo(HELP)
        elif text == "quit":
            raise Left
        elif text:
            try:
                return actions[typed_action(text, names)]
            except NotUnderstood as error:
                click.echo(str(error))


def in_columns(cells: Sequence[str]) -> str:
    """The cells, row by row, as many in a row as fit on a line."""
    width = max(map(len, cells)) + 2
    in_row = max(1, LINE // width)
    rows = [cells[first : first + in_row] for first in range(0, len(cells), in_row)]
    return "\n".join("".join(cell.ljust(width) for cell in row).rstrip() for row in rows)


def read_line() -> str:
    """A line from the terminal; raises Left at its end and at Ctrl-C."""
    try:
        return input("> ").strip().lower()
    except (EOFError, KeyboardInterrupt):
        click.echo()
        raise Left from None


def show(state: State, seat: int) -> None:
    """What the seat knows; a line that begins with the name of a colour is in that colour."""
    click.echo()
    for line in state.information_state_string(seat).splitlines():
        click.secho(line, fg=TERMINAL_COLORS.get(line.partition(" ")[0]))


def is_seen(state: State, action: int, seat: int) -> bool:
    """Whether the seat can tell an action of another player from everything else they could do."""

    def key_after(choice: int) -> bytes:
        twin = state.clone()
        twin.apply(choice)
        return twin.information_state_key(seat)

    others = {key_after(other) for other in state.legal_actions() if other != action}
    return key_after(action) not in {state.information_state_key(seat), *others}
