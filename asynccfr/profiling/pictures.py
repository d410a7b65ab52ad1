"""A profile as pictures, one for each question."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asynccfr.profiling.lines import Curve
from asynccfr.profiling.profile import Profile


def draw(profile: Profile, folder: Path) -> list[Path]:
    """Write the pictures as PNG files and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "forward": forward,
        "gather": gather,
        "step": step,
        "run": run,
        "model": model,
        "placement": placement,
    }
    paths = []
    for name, picture in pictures.items():
        figure = Figure(figsize=(6.4, 4), layout="constrained")
        picture(figure.subplots(), profile)
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=90)
    return paths


def curves(axes: Axes, found: Mapping[str, Curve], per_row: bool) -> None:
    """Measured costs with their spread, and the fitted line dashed."""
    for name, curve in found.items():
        rows = np.array(curve.rows)
        divisor = rows if per_row else np.ones(len(rows))
        fitted = curve.line.fixed_us + curve.line.per_row_us * rows
        (drawn,) = axes.plot(rows, curve.us / divisor, "o-", markersize=3, label=name)
        colour = drawn.get_color()
        axes.fill_between(rows, curve.p05 / divisor, curve.p95 / divisor, color=colour, alpha=0.2)
        axes.plot(rows, fitted / divisor, "--", color=colour, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("µs per row" if per_row else "µs")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")


def forward(axes: Axes, profile: Profile) -> None:
    axes.set_title("The forward (dashed: fixed part + part per row)")
    found = {str(each.way): each.curve for each in profile.forwards if each.curve is not None}
    curves(axes, found, per_row=True)


def gather(axes: Axes, profile: Profile) -> None:
    axes.set_title("Moving rows (dashed: fixed part + part per row)")
    curves(axes, {each.name: each.curve for each in profile.gathers}, per_row=False)


def step(axes: Axes, profile: Profile) -> None:
    axes.set_title("A step of the batcher: parts, and the whole (crosses)")
    rows = np.array(profile.step.whole.rows)
    positions = np.arange(len(rows))
    bottom = np.zeros(len(rows))
    for name, part in profile.step.parts.items():
        heights = np.array(part.us) / rows
        axes.bar(positions, heights, bottom=bottom, label=name)
        bottom += heights
    axes.plot(positions, profile.step.whole.us / rows, "kx", label="the whole")
    axes.set_xticks(positions, [str(count) for count in rows])
    axes.set_xlabel("rows")
    axes.set_ylabel("µs per row")
    axes.legend(fontsize="x-small")


def run(axes: Axes, profile: Profile) -> None:
    account = profile.whole_run.accounting
    axes.set_title("A whole run: parts of the wall time, µs per node")
    parts = {**account.parts_us, "unaccounted": account.unaccounted_us, "wall": account.wall_us}
    axes.barh(list(parts), list(parts.values()))
    axes.set_xlim(0, 1.15 * account.wall_us)  # room for the numbers
    axes.invert_yaxis()
    for number, us in enumerate(parts.values()):
        axes.text(us, number, f" {us:.2f}", va="center", fontsize="small")
    inline, thread = profile.whole_run.exposures
    hidden = thread.hidden_seconds / thread.batch_seconds
    axes.set_xlabel(
        f"inline {inline.nodes_per_second.median:,.0f} nodes/s, in a thread\n"
        f"{thread.nodes_per_second.median:,.0f} with {hidden:.0%} of the batches hidden"
    )


def model(axes: Axes, profile: Profile) -> None:
    found = profile.calibration.predictions
    axes.set_title(f"Nodes per second; median error {profile.calibration.median_error:.0%}")
    for width in sorted({each.setting.width for each in found}):
        own = [each for each in found if each.setting.width == width]
        axes.plot(
            [each.measured.median for each in own],
            [each.predicted for each in own],
            "o",
            label=f"{width} units",
        )
    most = max(max(each.predicted, each.measured.median) for each in found) * 1.1
    ends = np.array([0, most])
    axes.plot(ends, ends, "k-", linewidth=1)
    axes.fill_between(ends, 0.9 * ends, 1.1 * ends, alpha=0.15, label="within 10%")
    axes.set_xlabel("measured")
    axes.set_ylabel("predicted")
    axes.legend(fontsize="x-small")


def placement(axes: Axes, profile: Profile) -> None:
    axes.set_title(f"Two evaluators: both {profile.placement.both_over_first} of the first")
    found = {
        f"path {number}: {path.device}": path.forward
        for number, path in enumerate(profile.placement.paths, 1)
    }
    curves(axes, found, per_row=False)
