"""What training shows while it runs: a live display on a terminal, plain lines anywhere else."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from asynccfr.reports import LOSSES, IterationReport, MatchReport

REFRESH_SECONDS = 0.1
PLAIN_SECONDS = 30.0
RECENT = 10

NASH_CONV = "what best responses to it would win, of both seats together; 0: an equilibrium"


class Throttle:
    """Lets a call through once a period."""

    def __init__(self, period: float) -> None:
        self.period = period
        self.last = time.monotonic()

    def due(self) -> bool:
        now = time.monotonic()
        if now - self.last < self.period:
            return False
        self.last = now
        return True


class TimeLeft:
    """An estimate from how long the latest iterations took."""

    def __init__(self) -> None:
        self.marks = deque([time.monotonic()], RECENT + 1)

    def after(self, report: IterationReport) -> float:
        self.marks.append(time.monotonic())
        each = (self.marks[-1] - self.marks[0]) / (len(self.marks) - 1)
        return each * (report.iterations - report.iteration)


class PlainDisplay(AbstractContextManager["PlainDisplay"]):
    """One line per iteration, and a sign of life now and then within a long one.

    Here and in LiveDisplay, `phase` may be called very often and from any thread.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.throttle = Throttle(PLAIN_SECONDS)
        self.left = TimeLeft()

    def phase(self, name: str, done: int, total: int) -> None:
        if self.throttle.due():
            write(self.console, f"  {readable(name)} {done}/{total}")

    def report(self, report: IterationReport) -> None:
        write(self.console, iteration_line(report, self.left.after(report)))
        self.throttle.last = time.monotonic()

    def __exit__(self, *exception: object) -> None:
        pass


class LiveDisplay(AbstractContextManager["LiveDisplay"]):
    """The lines of the iterations, and below them two bars: the run and its present phase."""

    def __init__(self, console: Console, done: int, iterations: int) -> None:
        self.throttle = Throttle(REFRESH_SECONDS)
        self.name = ""
        self.left = TimeLeft()
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
        )
        self.run = self.progress.add_task("iterations", total=iterations, completed=done, left="")
        self.part = self.progress.add_task("starting", total=None, left="")

    def phase(self, name: str, done: int, total: int) -> None:
        if name != self.name:
            self.name = name
            self.progress.reset(self.part)
        elif not self.throttle.due():
            return
        description = readable(name)
        self.progress.update(self.part, description=description, completed=done, total=total)

    def report(self, report: IterationReport) -> None:
        seconds = self.left.after(report)
        write(self.progress.console, iteration_line(report, seconds))
        left = f"{duration(seconds)} left"
        self.progress.update(
            self.run, completed=report.iteration, total=report.iterations, left=left
        )

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.progress.stop()


class Legend:
    """Explains a network's loss, or NashConv, once, below the first line that it stands in."""

    def __init__(self) -> None:
        self.explained: set[str] = set()

    def new(self, report: IterationReport) -> list[str]:
        found = {f"loss {fit.network}": LOSSES[fit.network] for fit in report.fits}
        if report.nash_conv:
            found["NashConv"] = NASH_CONV
        new = [f"  {name}: {what}" for name, what in found.items() if name not in self.explained]
        self.explained.update(found)
        return new


@contextmanager
def progress_bars(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each phase that is told of, on a terminal only: `show(phase, done, total)`."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase)
            bars.update(tasks[phase], completed=done, total=total)

        yield show


def make_display(console: Console, done: int, iterations: int) -> LiveDisplay | PlainDisplay:
    if console.is_terminal:
        return LiveDisplay(console, done, iterations)
    return PlainDisplay(console)


def iteration_line(report: IterationReport, seconds_left: float) -> str:
    """An iteration in one line, and one more for each evaluation."""
    losses: dict[str, str] = {}
    for fit in report.fits:
        losses[fit.network] = f"{losses.get(fit.network, fit.network)} {fit.loss_last:.4g}"
    parts = [
        f"iteration {report.iteration}/{report.iterations}",
        f"{quantity(report.nodes)} decisions sampled",
        f"{quantity(report.nodes_per_second)} per second, "
        f"{quantity(report.nodes_per_second_with_learning)} with learning",
        f"{report.inference.batch_mean:.0f} rows per forward",
        *([f"{report.inference.hit_rate:.0%} from the cache"] if report.inference.answered else []),
        f"loss {', '.join(losses.values())}",
        f"{report.seconds:.1f} s",
        f"{duration(seconds_left)} left",
    ]
    lines = ["  ".join(parts)]
    if report.nash_conv:
        exact = (f"{name} {value:.4f}" for name, value in report.nash_conv.items())
        lines.append(f"  NashConv: {', '.join(exact)}")
    return "\n".join(lines + [f"  {match_line(match)}" for match in report.evaluation])


def match_line(match: MatchReport) -> str:
    half = (match.score_high - match.score_low) / 2
    return (
        f"against {match.b}: {match.score:+.3g} ± {half:.2g} per game, won {match.win_rate:.1%} "
        f"(95%: {match.win_rate_low:.1%} to {match.win_rate_high:.1%}) of {2 * match.deals} games"
    )


def readable(phase: str) -> str:
    return phase.replace("_", " ")


def quantity(count: float) -> str:
    """A number in at most four characters and a unit: 950, 12.3k, 4.56M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.0f}"


def duration(seconds: float) -> str:
    """Seconds as a person would say them: 40 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def write(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)
