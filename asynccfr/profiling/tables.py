"""A profile as tables on the terminal."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table

from asynccfr.profiling.lines import Curve
from asynccfr.profiling.profile import Profile


def print_profile(profile: Profile, console: Console) -> None:
    repetitions = profile.scale.repetitions
    console.print(f"{profile.game} on {profile.machine}; medians of {repetitions} (5% to 95%)")
    for part in (boundary, forwards, gathers, step, contention, whole_run, model, placement):
        console.print(part(profile))
    console.print(recommendation(profile))
    console.print(profile.placement.verdict)


def recommendation(profile: Profile) -> str:
    """The setting to use, and where to compute batches; or why none is recommended."""
    reason = profile.calibration.reason
    if profile.calibration.recommended is None:
        return reason
    by_speed = sorted(profile.whole_run.exposures, key=lambda each: each.nodes_per_second.median)
    slower, faster = (f"{each.place} {each.nodes_per_second}" for each in by_speed)
    return f"{reason}; batches: {faster} nodes/s, {slower}"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> RenderableType:
    found = Table(title=title)
    for number, column in enumerate(columns):
        found.add_column(column, justify="right" if number else "left")
    for row in rows:
        found.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    return found


LINE = ("fixed", "a row", "off by", "line to", "line from")


def line(curve: Curve) -> tuple[object, ...]:
    found = curve.line
    worst = max(found.residuals, key=abs)
    return (
        found.fixed_us,
        found.per_row_us,
        f"{worst:+.0%}",
        found.straight_to,
        found.straight_from,
    )


def boundary(profile: Profile) -> RenderableType:
    rows = [(call.name, call.p50_us, call.p95_us, call.calls) for call in profile.boundary]
    return table("The policy boundary, a call", ("call", "p50, µs", "p95, µs", "calls"), rows)


def forwards(profile: Profile) -> RenderableType:
    rows = [
        (
            str(each.way),
            each.curve.us[0],
            each.curve.us[-1] / each.curve.rows[-1],
            *line(each.curve),
        )
        if each.curve is not None
        else (str(each.way), f"failed: {each.failure[:40]}", *[""] * 6)
        for each in profile.forwards
    ]
    most = profile.scale.most_rows
    columns = ("way", "1 row", f"a row of {most}", *LINE)
    return table("The forward, µs; its cost as a line over rows", columns, rows)


def gathers(profile: Profile) -> RenderableType:
    rows = [
        (
            each.name,
            each.bytes_per_row,
            *line(each.curve),
            "-" if each.latency_bound_below is None else f"{each.latency_bound_below:.0f}",
        )
        for each in profile.gathers
    ]
    title = "Moving rows, µs; below `latency` rows the fixed part is most of it"
    return table(title, ("way", "bytes", *LINE, "latency"), rows)


def step(profile: Profile) -> RenderableType:
    found = profile.step
    last = found.whole.rows[-1]
    columns = ("part", *LINE, f"{last} rows")
    rows = [(name, *line(part), part.us[-1]) for name, part in found.parts.items()]
    rows += [
        ("unaccounted", *[""] * 5, found.unaccounted_us[-1]),
        ("the whole", *line(found.whole), found.whole.us[-1]),
    ]
    ratios = ", ".join(
        f"{rows_}: {ratio:.2f}"
        for rows_, ratio in zip(found.whole.rows, found.sum_over_whole, strict=True)
    )
    return table(f"A step of the batcher, µs; sum over whole by rows: {ratios}", columns, rows)


def contention(profile: Profile) -> RenderableType:
    found = profile.contention
    rows = [
        ("walks, a node", found.node_us_alone, found.node_us_together, found.walks_slowdown),
        (
            f"forward of {found.rows} rows",
            found.forward_us_alone,
            found.forward_us_together,
            found.forwards_slowdown,
        ),
    ]
    return table("Alone and together", ("work", "alone, µs", "together, µs", "slowdown"), rows)


def whole_run(profile: Profile) -> RenderableType:
    found = profile.whole_run
    account = found.accounting
    rows: list[Sequence[object]] = [
        (name, us, f"{us / account.wall_us:.0%}") for name, us in account.parts_us.items()
    ]
    rows.append(("unaccounted", account.unaccounted_us, f"{account.unaccounted_share:.0%}"))
    rows.append(("wall", account.wall_us, "100%"))
    for each in found.exposures:
        rows.append(
            (
                f"batches {each.place}: {each.nodes_per_second} nodes/s",
                f"hidden {each.hidden_seconds / each.batch_seconds:.0%}",
                f"{each.sum_or_max:.2f}",
            )
        )
    title = (
        f"A whole run, {found.driver.concurrency} at once, realised batch "
        f"{account.realised_batch:.0f} (last rows: how much of the batches' time was hidden; where "
        "wall time lies between the longer part, 0, and the sum, 1)"
    )
    return table(title, ("part", "µs per node", "share"), rows)


def model(profile: Profile) -> RenderableType:
    rows = [
        (
            each.setting.concurrency,
            each.setting.max_batch,
            each.setting.width,
            each.setting.dtype,
            each.setting.threads,
            f"{each.predicted:,.0f}",
            f"{each.measured.median:,.0f}",
            f"{each.error:+.0%}",
        )
        for each in profile.calibration.predictions
    ]
    columns = (
        "at once",
        "batch",
        "width",
        "dtype",
        "threads",
        "predicted",
        "measured",
        "error",
    )
    title = f"Nodes per second; median error {profile.calibration.median_error:.0%}"
    return table(title, columns, rows)


def placement(profile: Profile) -> RenderableType:
    rows = [
        (
            f"path {number}: {path.device}",
            path.forward.line.fixed_us,
            path.forward.line.per_row_us,
            path.weights.line.per_row_us,
            f"{path.rows} rows: {path.alone_us} µs",
            path.together_us,
        )
        for number, path in enumerate(profile.placement.paths, 1)
    ]
    columns = ("path", "fixed, µs", "µs per row", "µs per network", "alone", "together, µs")
    return table("Two evaluators", columns, rows)
