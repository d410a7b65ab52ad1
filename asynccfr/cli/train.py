"""`asynccfr train`: start a run or continue one, and show how it goes."""

import gc
import time
from contextlib import aclosing, suppress
from pathlib import Path
from signal import Signals

import click
from msgspec.structs import replace
from rich.console import Console

from asynccfr.cli.options import drawn, path_type, set_option
from asynccfr.cli.progress import Legend, make_display, write
from asynccfr.cli.signals import stopped_by_signals
from asynccfr.cli.summary import print_opening, print_summary, resume_command
from asynccfr.config import TrainConfig
from asynccfr.config.files import load_config, with_overrides
from asynccfr.errors import AsyncCFRError, RunError, needed_by
from asynccfr.event_loop import run
from asynccfr.games import configured_game
from asynccfr.games.allowed import load_allowed
from asynccfr.runs import RunFolder, holds_run
from asynccfr.storage.durable import explained


@click.command("train")
@click.argument("source", type=path_type, metavar="CONFIG|DIR")
@set_option
@click.option("--out", type=path_type, metavar="DIR", help="Where to write the run.")
@click.option("--resume", is_flag=True, help="Continue the run in DIR if there is one.")
@click.option(
    "--game",
    metavar="GAME",
    help="The game, in place of CONFIG's; a run in DIR whose game is Python code needs it.",
)
@click.pass_context
def command(
    context: click.Context,
    source: Path,
    overrides: tuple[str, ...],
    out: Path | None,
    resume: bool,
    game: str | None,
) -> None:
    """Train an agent as the file CONFIG says, or continue the run in DIR.

    \b
    asynccfr train configs/quick.yaml                          a new run in runs/
    asynccfr train configs/quick.yaml --out runs/a             a new run in runs/a
    asynccfr train configs/quick.yaml --out runs/a --resume    a new run or its continuation
    asynccfr train --resume runs/a                             the continuation of a run
    """
    if resume and out is None and source.is_file():
        raise click.UsageError("--resume needs a run's folder: --resume DIR, or --out DIR")
    if source.is_dir() and out is not None:
        raise click.UsageError("--out goes with a configuration file, not with a run's folder")
    if resume and out is None:
        folder = RunFolder.open(source)
        if game is None:
            load_allowed(folder.config.game, str(source))
        config = with_game(with_overrides(folder.config, overrides), game)
        status = continue_run(folder, config)
    elif source.is_dir():
        raise RunError(f"{source}: is a folder; continue a run with --resume, or name a CONFIG")
    else:
        config = with_game(load_config(source, overrides), game)
        configured_game(config.game)
        if resume and out is not None and holds_run(out):
            status = continue_run(RunFolder.open(out), config)
        else:
            status = start_run(out or new_folder(source), config)
    context.exit(status)


def with_game(config: TrainConfig, game: str | None) -> TrainConfig:
    return config if game is None else replace(config, game=game)


def new_folder(source: Path) -> Path:
    """Make a folder of its own for a run, however many start in the same second."""
    first = Path("runs") / f"{source.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = first, 1
    with explained(path, "choose another folder with --out"):
        while True:
            try:
                path.mkdir(parents=True)
                return path
            except FileExistsError:
                number += 1
                path = first.with_name(f"{first.name}-{number}")


def start_run(path: Path, config: TrainConfig) -> int:
    try:
        folder = RunFolder.create(path, config)
    except AsyncCFRError:
        with suppress(OSError):  # whatever is in it stays
            path.rmdir()
        raise
    with folder.lock():
        try:
            return follow(folder)
        except AsyncCFRError:
            folder.discard()
            raise


def continue_run(folder: RunFolder, config: TrainConfig) -> int:
    with folder.lock():
        folder.reconfigure(config)
        return follow(folder)


def follow(folder: RunFolder) -> int:
    """Train in the folder, showing how it goes, and return the exit status."""
    with needed_by("the run's picture"):  # told before a run, not after it
        from asynccfr.runs.plots import plot_learning_curves

    console = Console()
    print_opening(console, folder)
    try:
        stopped_by = run(follow_training(folder, console))
    except AsyncCFRError:
        if folder.saved_iteration():
            write(console, resume_hint(folder))
        raise
    if stopped_by is not None:
        click.echo(f"stopped by {stopped_by.name}: {resume_hint(folder)}", err=True)
        return 128 + stopped_by
    reports = folder.reports()
    path = folder.plots / "learning_curves.png"
    drawn(path, lambda: plot_learning_curves(reports, path))
    print_summary(console, folder, reports)
    return 0


async def follow_training(folder: RunFolder, console: Console) -> Signals | None:
    """Show every report until training ends; the signal that ended it, if one did."""
    from asynccfr.training import train

    config, legend = folder.config, Legend()
    with (
        make_display(console, folder.saved_iteration(), config.solver.iterations) as display,
        stopped_by_signals(say_how_it_ends) as stop,
    ):
        async with aclosing(train(config, folder=folder, progress=display.phase)) as reports:
            async for report in reports:
                display.report(report)
                for line in legend.new(report):
                    write(console, line)
                if stop.signal is not None:
                    break
                if not gc.get_freeze_count():
                    # What torch has loaded by now would cost every full collection up to a second.
                    gc.collect()
                    gc.freeze()
    gc.unfreeze()
    return stop.signal


def say_how_it_ends(number: Signals) -> None:
    how = "ends when the iteration under way is saved; again to end without it"
    click.echo(f"{number.name}: {how}", err=True)


def resume_hint(folder: RunFolder) -> str:
    done = f"iteration {folder.saved_iteration()} of {folder.config.solver.iterations} is saved"
    return f"{done}; continue with `{resume_command(folder)}`"
