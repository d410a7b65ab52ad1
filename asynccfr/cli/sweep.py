"""`asynccfr sweep`: one configuration with several seeds and settings, runs side by side."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from asynccfr.cli.match_tables import wide_console
from asynccfr.cli.options import path_type
from asynccfr.cli.progress import write
from asynccfr.config.files import load_config, parse_override
from asynccfr.errors import ConfigError, RunError
from asynccfr.evaluation.intervals import median_interval
from asynccfr.event_loop import run
from asynccfr.runs import RunFolder


class Member(NamedTuple):
    """One run of a sweep.

    Fields:
        settings: what it has in common with the runs of other seeds, as `--set` takes it.
        seed: of the run.
        folder: where it is.
    """

    settings: tuple[str, ...]
    seed: int
    folder: Path

    @property
    def log(self) -> Path:
        """What the run printed."""
        return self.folder.with_name(f"{self.folder.name}.log")


@click.command("sweep")
@click.argument("config", type=path_type)
@click.option("--seeds", default="0-4", show_default=True, help="Such as 0-4, or 1,2,5.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD=VALUE,VALUE",
    help="Values of a field to compare; repeatable, for all combinations.",
)
@click.option("--out", type=path_type, metavar="DIR", help="Where; default runs/NAME-sweep.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Runs at once. Default: one for each core at most."
)
@click.pass_context
def command(
    context: click.Context,
    config: Path,
    seeds: str,
    settings: Sequence[str],
    out: Path | None,
    jobs: int | None,
) -> None:
    """Train CONFIG with every seed and combination of settings, and compare them.

    The same command again continues what was stopped and repeats the table.

    \b
    asynccfr sweep configs/kuhn.yaml --seeds 0-4 --set solver.traversals=100,1000
    """
    where = out or Path("runs") / f"{config.stem}-sweep"
    members = list(plan(where, settings, parse_seeds(seeds)))
    threads = {load_config(config, overrides(each)).inference.threads for each in members}
    cores = os.cpu_count() or 1
    jobs = jobs or min(len(members), max(1, cores // max(1, *threads)))
    shared = () if any(threads) else (f"inference.threads={max(1, cores // jobs)}",)
    where.mkdir(parents=True, exist_ok=True)
    console = wide_console()
    write(console, f"{len(members)} runs in {where}, {jobs} at a time")
    failed = run(train_all(members, config, shared, jobs, console))
    done = [each for each in members if each not in failed]
    if done:
        console.print(results_table(done))
    context.exit(1 if failed else 0)


def parse_seeds(text: str) -> list[int]:
    """`0-2,7` as 0, 1, 2, 7. Raises ConfigError."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})(?:-(\d{1,18}))?\s*", part)
        first, last = (int(n or match[1]) for n in match.groups()) if match else (1, 0)
        if not first <= last < first + 1000:
            raise ConfigError(f"--seeds {text}: expected numbers or ranges, such as 0-4 or 1,2,5")
        found += range(first, last + 1)
    return list(dict.fromkeys(found))


def plan(where: Path, settings: Sequence[str], seeds: Sequence[int]) -> Iterator[Member]:
    """Every run; raises ConfigError for a setting without a value, or two runs of one name."""
    choices = []
    for text in settings:
        path, _ = parse_override(text)
        values = re.split(r",(?![^(\[{]*[)\]}])", text.partition("=")[2])
        choices.append([f"{'.'.join(path)}={value.strip()}" for value in values])
    names = set()
    for chosen, seed in product(product(*choices), seeds):
        name = re.sub(r"[^\w.=,+-]", "_", ",".join([*chosen, f"seed={seed}"]))[-200:]
        if name in names:
            raise ConfigError(f"--set: {', '.join(chosen)} twice; name every value once")
        names.add(name)
        yield Member(chosen, seed, where / name)


def overrides(member: Member) -> list[str]:
    return [*member.settings, f"seed={member.seed}"]


async def train_all(
    members: Sequence[Member], config: Path, shared: Sequence[str], jobs: int, console: Console
) -> list[Member]:
    """Train or continue every run, so many at once; those that failed."""
    room, failed = asyncio.Semaphore(jobs), []

    async def train(member: Member) -> None:
        async with room:
            status = await train_one(member, config, shared)
        if status:
            failed.append(member)
        last = (member.log.read_text(errors="replace").splitlines() or [""])[-1]
        write(console, f"{member.folder.name}: " + (last if status else "done"))

    async with asyncio.TaskGroup() as group:
        for member in members:
            group.create_task(train(member))
    return failed


async def train_one(member: Member, config: Path, shared: Sequence[str]) -> int:
    """Train a run in a process of its own; its exit status."""
    options = [part for text in (*overrides(member), *shared) for part in ("--set", text)]
    arguments = ["train", str(config), *options, "--out", str(member.folder), "--resume"]
    with open(member.log, "wb") as log:  # noqa: ASYNC230 (a local file)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "asynccfr"),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            return await process.wait()
        except asyncio.CancelledError:
            process.terminate()  # it saves the iteration under way
            await process.wait()
            raise


def results_table(members: Sequence[Member]) -> Table:
    """Medians over the seeds, of what each run's last evaluations found."""
    groups: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for member in members:
        groups.setdefault(member.settings, []).append(results(member.folder))
    measures = dict.fromkeys(name for runs in groups.values() for each in runs for name in each)
    table = Table("settings", "seeds", title="Medians over seeds", title_justify="left")
    table.caption = (
        "In brackets: what holds the true median with 95% probability, or, of fewer than six "
        "seeds, the lowest and the highest."
    )
    for name in measures:
        table.add_column(name, justify="right")
    for settings, runs in groups.items():
        cells = []
        for name in measures:
            values = [each[name] for each in runs if name in each]
            cells.append(Text(shown(values) if values else ""))
        table.add_row(Text("\n".join(settings) or "as they are"), str(len(runs)), *cells)
    return table


def shown(values: Sequence[float]) -> str:
    middle, low, high = median_interval(values)
    return f"{middle:.4g} [{low:.4g}, {high:.4g}]"


def results(path: Path) -> dict[str, float]:
    """A run's last exact evaluation, last matches, and time. Raises RunError if it has none."""
    reports = RunFolder.open(path).reports()
    if not reports:
        raise RunError(f"{path}: holds no iteration yet")
    found: dict[str, float] = {}
    for report in reports:
        found |= {f"NashConv, {name}": value for name, value in report.nash_conv.items()}
        found |= {f"score against {match.b}": match.score for match in report.evaluation}
    return found | {"seconds": reports[-1].elapsed_seconds}
