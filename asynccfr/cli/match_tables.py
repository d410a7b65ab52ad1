"""Match reports as tables, each at most 80 columns wide where names are short."""

import sys
from collections import defaultdict
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from asynccfr.evaluation.intervals import Interval
from asynccfr.evaluation.ratings import Rating
from asynccfr.reports import GameStatistic, MatchReport

PLAIN_WIDTH = 120  # where output goes to no terminal


def wide_console() -> Console:
    """Standard output, as wide as tables with long names need where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def score_table(reports: Sequence[MatchReport]) -> Table:
    """Scores and win rates of each `a` against its `b`, with their 95% intervals."""
    table = _table("Scores", "player", "against", "score [95%]", "win rate [95%]")
    for report in reports:
        table.add_row(
            Text(report.a),
            Text(report.b),
            _interval(Interval(report.score, report.score_low, report.score_high)),
            f"{report.win_rate:.1%} \\[{report.win_rate_low:.1%}, {report.win_rate_high:.1%}]",
            style=_style(report.score_low, report.score_high),
        )
    return table


def play_table(reports: Sequence[MatchReport]) -> Table:
    """How the games went: decisions per round, and draws or what the game counts of itself."""
    statistics = reports[0].statistics if reports else ()
    columns = [each.name for each in statistics] or ["draws"]
    table = _table("Play", "player", "against", "length", *columns)
    if statistics:
        told = (f"{each.name}: {each.description}" for each in statistics)
        table.caption = Text(f"The player's : the opponent's. {'; '.join(told)}.")
    for report in reports:
        row = [_statistic(each) for each in report.statistics] or [f"{report.draws:.1%}"]
        table.add_row(Text(report.a), Text(report.b), f"{report.mean_length:.1f}", *row)
    return table


def matrix_table(reports: Sequence[MatchReport]) -> Table:
    """The score of each row's player against each column's; the best mean comes first."""
    cells: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for report in reports:
        half = (report.score_high - report.score_low) / 2
        cells[report.a][report.b] = report.score, half
        cells[report.b][report.a] = 0.0 - report.score, half
    means = {name: sum(s for s, _ in row.values()) / len(row) for name, row in cells.items()}
    order = sorted(means, key=lambda name: -means[name])
    table = _table("Score of the row against the column, ± 95%", "", *order, "mean")
    for name in order:
        row = cells[name]
        table.add_row(
            Text(name),
            *(_cell(*row[other]) if other in row else "" for other in order),
            f"{means[name]:+.3g}",
        )
    return table


def rating_table(rated: Sequence[Rating]) -> Table:
    """Ratings of players who have all met, the best first."""
    table = _table("Ratings", "player", "equilibrium [95%]", "share", "mean score [95%]")
    table.caption = (
        "Equilibrium: score against the mixture of players that none of them beats, with each "
        "one's share of it; crushing the weak does not count. Mean: score against all others."
    )
    for each in rated:
        table.add_row(
            Text(each.player),
            _interval(each.equilibrium),
            f"{each.share:.0%}",
            _interval(each.mean),
        )
    return table


def reading_aid(report: MatchReport) -> str:
    """What the scores are, of matches played like this one."""
    game = "game" if report.rounds == 1 else "match of three rounds"
    return (
        f"Score: what the player makes per {game}, the opponent's points deducted; {report.deals} "
        "deals, each played from both seats. [95%]: a difference is real if its interval has no 0 "
        "in it."
    )


def _interval(interval: Interval) -> str:
    return f"{interval.estimate:+.3g} \\[{interval.low:+.3g}, {interval.high:+.3g}]"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", box=SIMPLE_HEAD)
    for column in columns:
        named = column in ("", "player", "against")
        if named:
            table.add_column(Text(column), overflow="fold")
        else:
            table.add_column(Text(column), justify="right", no_wrap=True)
    return table


def _cell(score: float, half: float) -> Text:
    return Text(f"{score:+.3g} ±{half:.2g}", style=_style(score - half, score + half))


def _style(low: float, high: float) -> str:
    """Green where a difference is surely for the player, red where surely against."""
    return "green" if low > 0 else "red" if high < 0 else ""


def _statistic(statistic: GameStatistic) -> str:
    values = [statistic.a] if statistic.common else [statistic.a, statistic.b]
    kind = {"number": "f", "points": "f", "share": "%"}[statistic.unit]
    sign = "+" if statistic.unit == "points" else ""
    return " : ".join(
        "-" if value is None else f"{value:{sign}.{statistic.digits}{kind}}" for value in values
    )
