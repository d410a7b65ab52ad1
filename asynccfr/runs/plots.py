"""Learning curves of a run, drawn from its reports."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from asynccfr.reports import IterationReport

MARKED_UP_TO = 60


def plot_learning_curves(reports: Sequence[IterationReport], path: Path) -> None:
    """Draw speed, losses, realised batches and evaluations over iterations into a PNG file."""
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    (speed, batch), (loss, evaluation) = figure.subplots(2, 2)
    draw_nodes(speed, reports)
    draw_batches(batch, reports)
    draw_losses(loss, reports)
    draw_evaluation(evaluation, reports)
    for axes in figure.axes:
        axes.set_xlabel("iteration")
        axes.set_xlim(0, max(steps(reports), default=0) + 1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def plot_exploitability(reports: Sequence[IterationReport], uniform: float, path: Path) -> None:
    """Draw exact evaluations over iterations, nodes and seconds into a PNG file.

    `uniform` is the NashConv of uniform play, drawn for scale.
    """
    evaluated = [report for report in reports if report.nash_conv]
    figure = Figure(figsize=(13, 4.5), layout="constrained")
    over = {
        "iterations": [report.iteration for report in evaluated],
        "nodes": [report.nodes_total for report in evaluated],
        "seconds": [report.elapsed_seconds for report in evaluated],
    }
    for axes, (name, x) in zip(figure.subplots(1, 3, sharey=True), over.items(), strict=True):
        for policy in dict.fromkeys(name for report in evaluated for name in report.nash_conv):
            y = [report.nash_conv.get(policy, math.nan) for report in evaluated]
            axes.plot(x, y, marker=marker(evaluated), label=policy)
        axes.axhline(uniform, color="grey", linestyle="--", label="uniform")
        axes.set(xscale="log", yscale="log", xlabel=name)
        axes.grid(alpha=0.3, which="both")
    figure.axes[0].set_ylabel("NashConv (exploitability is half of it)")
    figure.axes[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def draw_nodes(axes: Axes, reports: Sequence[IterationReport]) -> None:
    axes.set_title("Nodes per second of traversal")
    rates = [report.nodes_per_second for report in reports]
    axes.plot(steps(reports), rates, marker=marker(reports))
    axes.set_ylim(bottom=0)


def draw_batches(axes: Axes, reports: Sequence[IterationReport]) -> None:
    axes.set_title("Realised batch (rows per forward)")
    x, batches = steps(reports), [report.inference for report in reports]
    axes.plot(x, [batch.batch_mean for batch in batches], marker=marker(reports), label="mean")
    axes.fill_between(
        x,
        [batch.batch_p50 for batch in batches],
        [batch.batch_p95 for batch in batches],
        alpha=0.2,
        label="median to 95th percentile",
    )
    axes.set_ylim(bottom=0)


def draw_losses(axes: Axes, reports: Sequence[IterationReport]) -> None:
    axes.set_title("Loss at the end of each fit")
    curves: dict[str, list[tuple[int, float]]] = {}
    for report in reports:
        for fit in report.fits:
            curves.setdefault(fit.label, []).append((report.iteration, fit.loss_last))
    for label, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker=marker(reports), label=label)


def draw_evaluation(axes: Axes, reports: Sequence[IterationReport]) -> None:
    axes.set_title("Mean score per game, 95% intervals")
    axes.axhline(0, color="grey", linewidth=1)
    opponents = dict.fromkeys(match.b for report in reports for match in report.evaluation)
    for opponent in opponents:
        matches = [
            (report.iteration, match)
            for report in reports
            for match in report.evaluation
            if match.b == opponent
        ]
        axes.errorbar(
            [iteration for iteration, _ in matches],
            [match.score for _, match in matches],
            yerr=[
                [match.score - match.score_low for _, match in matches],
                [match.score_high - match.score for _, match in matches],
            ],
            marker="o",
            capsize=3,
            label=f"against {opponent}",
        )
    if not opponents:
        axes.text(0.5, 0.6, "not evaluated yet", ha="center", transform=axes.transAxes)


def steps(reports: Sequence[IterationReport]) -> list[int]:
    return [report.iteration for report in reports]


def marker(reports: Sequence[IterationReport]) -> str:
    """Points while they can be told apart; a run's first iteration would otherwise be invisible."""
    return "o" if len(reports) <= MARKED_UP_TO else ""
