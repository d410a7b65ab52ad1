"""What a run prints when it ends: its result, where everything is, and what to do next."""

import shlex
from collections.abc import Sequence

from rich.console import Console

from asynccfr.cli.match_tables import score_table
from asynccfr.cli.progress import write
from asynccfr.reports import IterationReport
from asynccfr.runs import RunFolder


def print_summary(console: Console, folder: RunFolder, reports: Sequence[IterationReport]) -> None:
    """The latest evaluation, the files, and the commands that use them."""
    evaluated = [report for report in reports if report.evaluation]
    if evaluated:
        console.print(score_table(evaluated[-1].evaluation))
    where = {
        "run folder": folder.path,
        "agent": folder.agent,
        "metrics": folder.metrics,
        "plots": folder.plots,
    }
    for name, path in where.items():
        if path.exists():
            write(console, f"{name:<11}{path}")
    agent = shlex.quote(str(folder.path))
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
