"""`asynccfr evaluate`: how strong players are, by mirrored deals with confidence intervals."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from asynccfr.cli.match_tables import (
    matrix_table,
    play_table,
    rating_table,
    reading_aid,
    score_table,
    wide_console,
)
from asynccfr.cli.options import check_writable, chosen_game, game_option, path_type
from asynccfr.cli.progress import write
from asynccfr.evaluation.arena import MatchPlan, PlayedMatch
from asynccfr.evaluation.evaluate import evaluate
from asynccfr.evaluation.ratings import ratings
from asynccfr.event_loop import run
from asynccfr.games import Game
from asynccfr.players import opponents_for
from asynccfr.reports import MatchReport


@click.command("evaluate")
@click.argument("agents", nargs=-1, metavar="AGENT...")
@click.option("--agent", "more", multiple=True, metavar="AGENT", help="The same; repeatable.")
@click.option("--all", "everybody", is_flag=True, help="Every bot plays too, all against all.")
@click.option(
    "--against",
    multiple=True,
    metavar="AGENT",
    help="An opponent; repeatable. Default: every bot that knows the game.",
)
@click.option(
    "--deals",
    type=click.IntRange(2),
    default=1000,
    show_default=True,
    help="Deals of a match; each is played twice, seats swapped.",
)
@click.option(
    "--rounds",
    type=click.Choice(["1", "3"]),
    default="1",
    show_default=True,
    help="Rounds of a game; their scores add up.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The deals.")
@game_option
@click.option("--json", "json_path", type=path_type, metavar="PATH", help="Write the reports too.")
def command(
    agents: Sequence[str],
    more: Sequence[str],
    everybody: bool,
    against: Sequence[str],
    deals: int,
    rounds: str,
    seed: int,
    game: str | None,
    json_path: Path | None,
) -> None:
    """Play each AGENT against others and report the scores.

    An AGENT is the folder of a run, the file of an agent, `champion`, or the name of a bot. One
    alone meets every bot; several meet each other, or those named by --against.

    \b
    asynccfr evaluate runs/a                             against every bot
    asynccfr evaluate runs/a runs/b cautious             all against all
    asynccfr evaluate runs/a runs/b --against cautious   both against one
    asynccfr evaluate champion runs/a --all              both and every bot, all against all
    """
    if everybody and against:
        raise click.UsageError("--all and --against: choose one")
    agents = [*agents, *more]
    if everybody:
        agents += opponents_for(chosen_game(game, agents))
    if not agents:
        raise click.UsageError("Missing argument 'AGENT...': name a player, or give --all")
    agents = list(dict.fromkeys(agents))
    plan = MatchPlan(deals=deals, rounds=3 if rounds == "3" else 1, seed=seed)
    table = chosen_game(game, [*agents, *against])
    if len(agents) == 1 and not against:
        against = [name for name in opponents_for(table) if name != agents[0]]
        if not against:
            raise click.UsageError(f"nobody else plays {table}: name opponents with --against")
    if json_path is not None:
        check_writable(json_path)
    console = wide_console()
    matches = run(show_matches(table, agents, against, plan, console))
    reports = [match.report for match in matches]
    if len(agents) > 2 and not against:
        console.print(matrix_table(reports))
        console.print(rating_table(ratings({(m.report.a, m.report.b): m.deals for m in matches})))
    console.print(score_table(reports))
    console.print(play_table(reports))
    write(console, reading_aid(reports[0]))
    if json_path is not None:
        save(reports, json_path)


async def show_matches(
    game: Game,
    agents: Sequence[str],
    against: Sequence[str],
    plan: MatchPlan,
    console: Console,
) -> list[PlayedMatch]:
    """Play all the matches, with a progress bar on a terminal."""
    bars = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(
        *bars,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("games", total=None)

        def show(played: int, games: int) -> None:
            progress.update(task, completed=played, total=games)

        return await evaluate(agents, against, game=game, plan=plan, on_game=show)


def save(reports: Sequence[MatchReport], path: Path) -> None:
    import msgspec

    from asynccfr.storage.durable import replace_file

    replace_file(path, [msgspec.json.format(msgspec.json.encode(reports), indent=2), b"\n"])
