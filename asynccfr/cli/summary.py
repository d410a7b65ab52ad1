"""What a run prints when it ends: its result, where everything is, and what to do next."""

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from asynccfr.cli.progress import write
from asynccfr.reports import IterationReport, MatchReport
from asynccfr.runs import RunFolder


def print_summary(console: Console, folder: RunFolder, reports: Sequence[IterationReport]) -> None:
    """The latest evaluation, the files, and the commands that use them."""
    evaluated = [report for report in reports if report.evaluation]
    if evaluated:
        console.print(match_table(evaluated[-1].evaluation))
    where = {
        "run folder": folder.path,
        "agent": folder.agent,
        "metrics": folder.metrics,
        "plots": folder.plots,
    }
    for name, path in where.items():
        write(console, f"{name:<11}{path}")
    agent = shlex.quote(str(folder.agent))
    more = 2 * folder.config.solver.iterations
    hints = {
        "play": f"asynccfr play {agent}",
        "evaluate": f"asynccfr evaluate {agent}",
        "go on": f"{resume_command(folder)} --set solver.iterations={more}",
    }
    for name, command in hints.items():
        write(console, f"{name:<11}{command}")


def resume_command(folder: RunFolder) -> str:
    return f"asynccfr train --resume {shlex.quote(str(folder.path))}"


def match_table(matches: Sequence[MatchReport]) -> Table:
    """Scores and win rates with their 95% intervals."""
    table = Table(title="Evaluation (95% intervals)")
    for column in ("opponent", "games", "score", "win rate", "length"):
        table.add_column(column, justify="left" if column == "opponent" else "right")
    for match in matches:
        score = f"{match.score:+.2f} [{match.score_low:+.2f}, {match.score_high:+.2f}]"
        won = f"{match.win_rate:.1%} [{match.win_rate_low:.1%}, {match.win_rate_high:.1%}]"
        cells = (match.b, str(2 * match.deals), score, won, f"{match.mean_length:.1f}")
        table.add_row(*map(Text, cells))
    return table
