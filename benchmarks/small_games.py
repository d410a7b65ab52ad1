"""Sizes and values of games small enough to solve: `python -m benchmarks.small_games`.

Each game is enumerated and solved by CFR+ until NashConv is below the target. The value to player 0
lies within half of NashConv of the figure printed, whatever the solver did: best responses of both
players enclose it. `uniform` is the NashConv of uniform play, for scale.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import click
import msgspec

from asynccfr.exact.best_response import evaluate
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.exact.tabular import TabularCFR, solve
from asynccfr.games import load_game

QUICK = (
    "kuhn_poker",
    "leduc_poker",
    "lost_cities(colors=1, numbers=4, wagers=1, hand_size=1, cost=3)",
    "lost_cities(colors=1, numbers=5, wagers=1, hand_size=2, cost=4)",
    "lost_cities(colors=2, numbers=3, wagers=0, hand_size=2, cost=2)",
    "lost_cities(colors=2, numbers=2, wagers=1, hand_size=2, cost=2)",
)
LARGE = (
    "lost_cities(colors=1, numbers=6, wagers=1, hand_size=2, cost=4)",
    "lost_cities(colors=2, numbers=3, wagers=0, hand_size=1, cost=3)",
    "lost_cities(colors=2, numbers=3, wagers=1, hand_size=3, cost=3, max_pile_draws=0)",
    "lost_cities(colors=2, numbers=4, wagers=0, hand_size=3, cost=5, max_pile_draws=1)",
)
OPENSPIEL = ("openspiel:liars_dice",)
MAX_HISTORIES = 50_000_000


class SmallGame(msgspec.Struct, frozen=True, kw_only=True):
    """A solved game; values and NashConv are in the game's own units of utility."""

    game: str
    histories: int
    information_states: int
    iterations: int
    uniform_nash_conv: float
    nash_conv: float
    value: float
    enumerate_seconds: float
    solve_seconds: float


def measure(text: str, nash_conv: float) -> SmallGame:
    start = perf_counter()
    tree = sequence_form(load_game(text), MAX_HISTORIES)
    enumerated = perf_counter()
    solver, evaluation = solve(tree, nash_conv)
    solved = perf_counter()
    return SmallGame(
        game=text,
        histories=tree.num_histories,
        information_states=len(tree.keys),
        iterations=solver.iteration,
        uniform_nash_conv=evaluate(tree, TabularCFR(tree).strategy).nash_conv,
        nash_conv=evaluation.nash_conv,
        value=sum(evaluation.value_bounds) / 2,
        enumerate_seconds=enumerated - start,
        solve_seconds=solved - enumerated,
    )


COLUMNS = "{:>12} {:>12} {:>9} {:>20} {:>6} {:>8}  {}"


def print_table(rows: list[SmallGame]) -> None:
    header = ("histories", "infostates", "uniform", "value to player 0", "iter.", "seconds", "game")
    click.echo(COLUMNS.format(*header))
    for row in rows:
        click.echo(
            COLUMNS.format(
                f"{row.histories:,}",
                f"{row.information_states:,}",
                f"{row.uniform_nash_conv:.3f}",
                f"{row.value:.5f} ± {row.nash_conv / 2:.5f}",
                row.iterations,
                f"{row.enumerate_seconds + row.solve_seconds:.2f}",
                row.game,
            )
        )


@click.command()
@click.option("--quick", is_flag=True, help="Small games only, ten times coarser.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the rows there.")
@click.argument("games", nargs=-1)
def main(quick: bool, json_path: Path | None, games: tuple[str, ...]) -> None:
    """Solve GAMES (by default a selection) and print their sizes and values."""
    others = OPENSPIEL if find_spec("pyspiel") else ()
    chosen = games or (QUICK if quick else (*QUICK, *others, *LARGE))
    rows = []
    for text in chosen:
        print(f"solving {text}", file=sys.stderr)
        rows.append(measure(text, nash_conv=1e-2 if quick else 1e-3))
    print_table(rows)
    if json_path:
        json_path.write_bytes(msgspec.json.format(msgspec.json.encode(rows)))


if __name__ == "__main__":
    main()
