"""What a run prints when it begins and when it ends: whom it meets, its result, what to do next."""

import shlex
from collections.abc import Sequence

from rich.console import Console

from asynccfr.cli.match_tables import reading_aid, score_table
from asynccfr.cli.options import naming
from asynccfr.cli.progress import write
from asynccfr.config import DeepCFR
from asynccfr.games import configured_game
from asynccfr.players import described, players_for
from asynccfr.reports import IterationReport
from asynccfr.runs import RunFolder


def print_opening(console: Console, folder: RunFolder) -> None:
    """What is trained, where it is kept, and who the opponents of its matches are."""
    config = folder.config
    iterations, every, deals = (
        config.solver.iterations,
        config.evaluation.every,
        config.evaluation.deals,
    )
    write(console, f"training on {config.game} in {folder.path}: {iterations} iterations")
    when = f"every {every} iterations and at the end" if every else "at the end"
    write(console, f"{when}, the agent plays {deals} deals from both seats against")
    game = configured_game(config.game)
    for opponent in config.evaluation.opponents or players_for(game):
        write(console, f"  {opponent}: {described(opponent, game)}")


def print_summary(console: Console, folder: RunFolder, reports: Sequence[IterationReport]) -> None:
    """The latest evaluation, the files, and the commands that use them."""
    evaluated = [report for report in reports if report.evaluation]
    if evaluated:
        console.print(score_table(evaluated[-1].evaluation))
        write(console, reading_aid(evaluated[-1].evaluation[0]))
    where = {
        "run folder": folder.path,
        "agent": folder.agent,
        "metrics": folder.metrics,
        "plots": folder.plots,
    }
    for name, path in where.items():
        if path.exists():
            write(console, f"{name:<18}{path}")
    agent = shlex.quote(str(folder.path)) + naming(folder.config.game)
    hints = {
        "play against it": f"asynccfr play {agent}",
        "evaluate it": f"asynccfr evaluate {agent}",
        "train it further": f"{resume_command(folder)} {longer(folder)}",
    }
    for name, command in hints.items():
        write(console, f"{name:<18}{command}")


def longer(folder: RunFolder) -> str:
    """The options of a run twice as long."""
    solver = folder.config.solver
    lengths = {"iterations": solver.iterations}
    if not isinstance(solver, DeepCFR):
        lengths["anneal"] = solver.anneal
    return " ".join(f"--set solver.{name}={2 * length}" for name, length in lengths.items())


def resume_command(folder: RunFolder) -> str:
    return f"asynccfr train --resume {shlex.quote(str(folder.path))}{naming(folder.config.game)}"
